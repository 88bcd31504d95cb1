"""What a turn on the embedded model costs: ``python -m benchmarks.embedded_turn``.

An invented game of four rooms; a prompt as the agent's: fixed rules, a history that grows, the present, and an answer
held to the valid actions. Bars of the project on two cores: first answer within 15 s, median at most 2.5 s a turn.
Then the speed of reading and writing, with the default threads and with two, beside 0, 1 and 2 busy processes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from urllib.request import Request, urlopen

from pydantic import BaseModel, Field, SecretStr, create_model

from session.game_configuration import RoleOptions, Sampling
from zorkgpt.llm.embedded.embedded_server import EmbeddedServer
from zorkgpt.llm.embedded.model_store import ModelStore
from zorkgpt.llm.language_model import Completion, Prompt
from zorkgpt.llm.openai.openai_model import OpenAIModel

TURNS = 20
REPETITIONS = 3
READ, WRITTEN = 300, 20  # tokens, about
RULES = (
    "You are a clever adventurer. Explore new places, take useful things, open what is closed, read what can be read. "
    "When a command did not work, choose a different one. "
)
SYSTEM = RULES * 8 + "Answer in JSON: first reasoning, one short sentence, then action, one command of the list."
KNOWN = "You know: in this town things are often behind doors, and the keeper of the light keeps a log.\n" * 12
ROOMS = {
    "Harbour Steps": ("A rusty key hangs on a nail. The street is north.", ["take key", "examine nail", "north"]),
    "Fish Street": ("A shop with a green door is to the west.", ["open green door", "knock on door", "west"]),
    "Chandler's Shop": ("A brass lantern stands beside a closed ledger.", ["take lantern", "open ledger", "east"]),
    "Cellar": ("Barrels line the wall. A hatch in the floor is shut.", ["open hatch", "push barrel", "up"]),
}
ALWAYS = ["look", "wait", "inventory", "examine me", "drop coin", "drop map", "read map", "listen"]


class TurnAnswer(BaseModel):
    """What the agent answers; ``action`` is held to the valid actions of the turn."""

    reasoning: str = Field(max_length=80)
    action: str


def main() -> None:
    """Print the seconds to the first answer, median and worst seconds of the other turns, and tokens."""
    path = ModelStore().pull()
    start = time.perf_counter()
    with EmbeddedServer(path, proven=True) as server:
        opened = time.perf_counter() - start
        sampling = Sampling(temperature=0.7, min_p=0.1, max_tokens=120, seed=1)
        agent = RoleOptions(server.model, server.base_url, SecretStr(server.api_key), sampling)
        with OpenAIModel({"agent": agent}) as model:
            turns = _play(model)
    first, later = turns[0], turns[1:]
    seconds = [turn.seconds for turn in later]
    print(f"server open    {opened:6.2f} s")
    print(f"first answer   {opened + first.seconds:6.2f} s    bar 15 s")
    print(f"median a turn  {statistics.median(seconds):6.2f} s    bar 2.5 s; worst {max(seconds):.2f} s")
    for name in ("prompt", "cached", "completion"):
        print(f"{name:<10} {statistics.median(getattr(turn.usage, name) for turn in later):6.0f} tokens, median")
    print(f"actions        {len({turn.value.action for turn in turns})} distinct in {TURNS} turns")
    print(f"load average   {os.getloadavg()[0]:6.2f}")
    _print_speeds(path)


def _print_speeds(path: Path) -> None:
    print(f"{'threads':<8} {'busy neighbours':>16} {'read tokens/s':>14} {'written tokens/s':>17}")
    for threads in (None, 2):
        with EmbeddedServer(path, proven=True, threads=threads) as server:
            for neighbours in range(3):
                with _busy(neighbours):
                    speeds = [_speeds(server) for _ in range(REPETITIONS)]
                read, written = (statistics.median(speed) for speed in zip(*speeds, strict=True))
                print(f"{threads or 'default':<8} {neighbours:>16} {read:>14.0f} {written:>17.0f}", flush=True)


@contextmanager
def _busy(neighbours: int) -> Iterator[None]:
    """Keep as many processes calculating."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(neighbours)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _speeds(server: EmbeddedServer) -> tuple[float, float]:
    """Return the tokens a second of reading a new prompt and of writing, by the engine's own count."""
    prompt = {"prompt": "word " * READ, "n_predict": WRITTEN, "cache_prompt": False, "ignore_eos": True}
    headers = {"Authorization": f"Bearer {server.api_key}", "Content-Type": "application/json"}
    address = f"{server.base_url.removesuffix('/v1')}/completion"
    with urlopen(Request(address, json.dumps(prompt).encode(), headers)) as response:  # noqa: S310  on loopback
        timings = json.load(response)["timings"]
    return timings["prompt_per_second"], timings["predicted_per_second"]


def _play(model: OpenAIModel) -> list[Completion[TurnAnswer]]:
    history: list[str] = []
    turns = []
    for turn in range(TURNS):
        room, (text, actions) = list(ROOMS.items())[turn % len(ROOMS)]
        valid = [*actions, *ALWAYS]
        user = (
            f"{KNOWN}\n{chr(10).join(history)}\n\n{room}\n{text}\nYou carry: a coin, a map.\n\n"
            f"Commands: {', '.join(valid)}\nChoose the next command."
        )
        turns.append(model.complete("agent", Prompt(SYSTEM, user), _answers(valid)))
        history.append(f"> {turns[-1].value.action}\n{room}. {text}")
    return turns


def _answers(valid: list[str]) -> type[TurnAnswer]:
    action = Enum("Action", {name.upper().replace(" ", "_"): name for name in valid}, type=str)  # type: ignore[misc]  # made anew each turn
    return create_model("Answer", __base__=TurnAnswer, action=(action, ...))


if __name__ == "__main__":
    main()
