"""What a turn on the embedded model costs: ``python -m benchmarks.embedded_turn``.

The packaged story is played for some turns as ``zorkgpt run`` plays it. Bars of the project on two cores: first answer
within 15 s, median at most 2.5 s a call. Then the speed of reading and writing, with the default threads and with two,
beside 0, 1 and 2 busy processes.
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
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

from benchmarks.stories import OWN_STORY
from session.events import Event, ModelAnswered
from zorkgpt import api
from zorkgpt.llm.embedded.embedded_server import EmbeddedServer
from zorkgpt.llm.embedded.model_store import ModelStore

TURNS = 40
REPETITIONS = 3
READ, WRITTEN = 300, 20  # tokens, about


def main() -> None:
    """Print the seconds to the first answer, median and worst seconds of the other calls, and tokens."""
    path, calls = ModelStore().pull(), list[ModelAnswered]()
    start = first = time.perf_counter()

    def show(event: Event) -> None:
        nonlocal first
        if isinstance(event, ModelAnswered):
            first = first if calls else time.perf_counter()
            calls.append(event)

    with TemporaryDirectory() as folder:
        api.play(game=OWN_STORY, max_turns=TURNS, seed=1, workdir=folder, show=show)
    later = calls[1:]
    seconds = [call.seconds for call in later]
    print(f"first answer   {first - start:6.2f} s    bar 15 s, with the story and the server opened")
    print(f"median a call  {statistics.median(seconds):6.2f} s    bar 2.5 s; worst {max(seconds):.2f} s")
    for name in ("prompt", "cached", "completion"):
        print(f"{name:<10} {statistics.median(getattr(call, f'{name}_tokens') for call in later):6.0f} tokens, median")
    print(f"calls          {len(calls)} in {TURNS} turns")
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


if __name__ == "__main__":
    main()
