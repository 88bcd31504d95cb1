"""What a turn costs: model calls, prompt tokens, time, disk. Everything that can be learned is on.

    python -m benchmarks.turn_cost [STORY]

plays the walkthrough of STORY (Zork I in the folder ZORKGPT_STORIES, else the story that ships) as ``zorkgpt run``
does, with the interpreter in a process of its own and all files on a disk, and with a model that plausibly answers
every role and takes no time. Once cold, in an empty work folder, and once warm: with 8 memories at each of 100
locations and 12 kB of knowledge. Tokens are estimated at four characters each. Those that a prompt shares with the one
before of its role are billed at a tenth, as servers with a cache do. A last figure is with an
earlier game in all of its room. The growth is that of a turn's time
over 2,000 turns which repeat the same commands. Times are without the model's. Temporary files only; no network. Exit
status 1: a bar that does not depend on the machine is missed.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median, quantiles
from threading import Event as Flag
from types import FrameType
from typing import get_args

from pydantic import BaseModel
from typing_extensions import Self

from benchmarks.stories import Walkthrough, walkthrough_of, zork_or_own
from benchmarks.tables import Row, show
from managers.knowledge.document import parse_knowledge
from managers.memory.document import parse_memories
from managers.transcript_manager import TRANSCRIPTS_FILE
from managers.transcripts.document import Game, Transcripts
from managers.transcripts.game_text import PlayedTurn
from orchestration.parts import open_story
from orchestration.run import open_run
from session.events import EpisodeEnded, EpisodeStarted, Event, TurnPlayed
from session.files.journal import JOURNAL_FILE
from session.game_configuration import GameConfiguration
from session.knowledge import SECTIONS, KnowledgeEntry, KnowledgeLine, Source
from session.memory import Memory
from session.text import FIRST_GUESS
from tests.fixtures.scripted_llm import ScriptedLLM
from zorkgpt.llm.language_model import Answer, Completion, Prompt, Role
from zorkgpt.llm.run_model import ChosenModel

LONG_RUN = 2000  # turns
TOUR = ("look", "inventory", "north", "south", "east", "west", "wait")
WARM_LOCATIONS, WARM_MEMORIES, WARM_KNOWLEDGE = 100, 8, 12_000  # the last in characters
REASONING = (
    "I have looked at what the last response says and at what I carry. The way on is to do this now, "
    "because it follows from the plan that I made when I came here, and nothing speaks against it yet."
)
_LARGE_DISK = Path("/var/tmp")  # noqa: S108  a disk on systems whose folder for temporary files is in memory


@dataclass(frozen=True, slots=True)
class Bar:
    """The most that a figure may be, cold and warm. ``is_time``: it depends on the machine."""

    cold: float
    warm: float
    is_time: bool = False


GROWTH = "growth of the time, last fifth to first"
BARS: Mapping[str, Bar] = {
    "model calls": Bar(1.4, 1.3),
    "billed tokens": Bar(1700, 1700),
    "longest prompt, tokens": Bar(16_000, 16_000),
    "time, ms, p50": Bar(5, 5, is_time=True),
    "time, ms, p95": Bar(15, 15, is_time=True),
    "function calls": Bar(12_000, 14_000),
    "forced writes": Bar(1.3, 1.3),
    "file replacements": Bar(2, 2),
    "journal, bytes": Bar(2600, 2600),
    GROWTH: Bar(1.2, 1.2, is_time=True),
}
"""All but the longest prompt and the growth are of a turn."""
CACHED = 0.1
"""The price of a cached token of a prompt, relative to one that is not."""


@dataclass(slots=True)
class Cost:
    """What a run cost.

    calls: model calls, by role
    tokens: of the prompts of each turn, by role; what was learned from a turn is part of the next one, but at the end
        of an episode part of its last one
    billed: the tokens of all prompts, those that a prompt's predecessor began with at a tenth
    longest: tokens of the longest prompt
    shared: by role, the share of each prompt's characters that its predecessor began with
    seconds: of each turn, without the model's
    rooms: the names of the locations in which a turn was begun, by id
    """

    turns: int = 0
    score: int | None = None
    calls: Counter[str] = field(default_factory=Counter)
    tokens: list[Counter[str]] = field(default_factory=list)
    billed: float = 0
    longest: int = 0
    shared: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    seconds: list[float] = field(default_factory=list)
    journal_bytes: int = 0
    rooms: dict[int, str] = field(default_factory=dict)


class Player:
    """Answers as a model that plays ``commands`` would, again and again, and measures what a turn costs meanwhile."""

    def __init__(self, commands: Sequence[str], clock: Callable[[], float] = time.perf_counter) -> None:
        self.cost = Cost()
        self._clock = clock
        self._commands = commands
        self._model = ScriptedLLM(self._reply)
        self._previous: dict[str, str] = {}
        self._asked: Counter[str] = Counter()
        self._since = 0.0
        self._thinking = 0.0

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        """Answer, and measure the prompt; the time that this takes is the model's."""
        start = self._clock()
        self._measure(role, prompt.system + prompt.user)
        answer = self._model.complete(role, prompt, schema)
        self._model.calls.clear()
        self._thinking += self._clock() - start
        return answer

    def show(self, event: Event) -> None:
        """Take the time between turns, from the moment when one is in the journal to that of the next."""
        now = self._clock()
        cost = self.cost
        if isinstance(event, TurnPlayed):
            cost.seconds.append(now - self._since - self._thinking)
            cost.turns += 1
            location = event.record.before.location
            if location is not None:
                cost.rooms[location.num] = location.name
            cost.tokens.append(self._asked)
            self._asked = Counter()
        elif isinstance(event, EpisodeEnded):
            cost.score = event.score
            cost.tokens[-1].update(self._asked)
            self._asked.clear()
        if isinstance(event, EpisodeStarted | TurnPlayed):
            self._since, self._thinking = self._clock(), 0.0

    def _measure(self, role: Role, text: str) -> None:
        before = self._previous.get(role, "")
        same, tokens = _shared_prefix(text, before), round(len(text) * FIRST_GUESS)
        self.cost.calls[role] += 1
        self._asked[role] += tokens
        self.cost.billed += billed_tokens(text, before)
        self.cost.longest = max(self.cost.longest, tokens)
        if role in self._previous:
            self.cost.shared[role].append(same / len(text))
        self._previous[role] = text

    def _reply(self, role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        number = self.cost.calls[role]
        if role == "agent":
            reading = {"is_room_description": True, "exits": ["north", "south", "up"], "in_combat": False}
            command = self._commands[self.cost.turns % len(self._commands)]
            choices = get_args(schema.model_fields["action"].annotation) or (command,)
            command = command if command in choices else choices[self.cost.turns % len(choices)]
            return {"reading": reading, "reasoning": REASONING, "action": command}
        if role == "critic":
            return {"reason": "Nothing speaks against it.", "accepted": True, "confidence": 0.5}
        turns = [int(turn) for turn in re.findall(r"^(?:\W*)Turn (\d+)", prompt.user, re.MULTILINE)] or [1]
        if role == "memory":
            return {"memories": [_memory(number, turns[-1])]}
        answers = {"objectives": _objectives, "insights": _insights, "cut": _consolidation, "lines": _knowledge}
        return next(answer for name, answer in answers.items() if name in schema.model_fields)(number, turns)


def billed_tokens(text: str, before: str) -> float:
    """Return the tokens of a prompt as they are billed after the one before of its role, four characters each."""
    return FIRST_GUESS * (len(text) - (1 - CACHED) * _shared_prefix(text, before))


def _shared_prefix(text: str, other: str) -> int:
    """Return how many characters both begin with."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(text), len(other)))


def _memory(number: int, turn: int) -> dict[str, object]:
    return {
        "should_remember": True,
        "category": "DISCOVERY",
        "memory_title": f"What turn {turn} brought to light, number {number}",
        "memory_text": "The way on is open once the obstacle is gone; it takes both hands, and it is quick. " * 2,
        "persistence": "ephemeral" if number % 4 == 0 else "permanent",
        "turn": turn,
        "reasoning": "It will be of use whenever the player comes back.",
    }


def _objectives(number: int, turns: Sequence[int]) -> dict[str, object]:
    found = [
        {"text": f"Look for what lies behind the obstacle that turn {turns[-1]} showed", "location_id": None},
        {"text": f"Bring what was found by update {number} to where it is worth points", "location_id": None},
    ]
    return {"objectives": found, "reasoning": "From what was seen."}


def _knowledge(number: int, turns: Sequence[int]) -> dict[str, object]:
    section = ("PUZZLE SOLUTIONS", "STRATEGIC PATTERNS", "LESSONS LEARNED", "DANGERS & THREATS")[number % 4]
    texts = ("opens only after the thing beside it was moved", "is not safe without a light that lasts")
    lines = [
        {"section": section, "text": f"What was met in turn {turn} {text}", "turns": [turn]}
        for turn, text in zip((turns[0], turns[-1]), texts, strict=True)
    ]
    return {"lines": lines}


def _consolidation(_number: int, _turns: Sequence[int]) -> dict[str, object]:
    return {"lines": [{"text": "Both are opened by what lies beside them", "replaces": [1, 2]}], "cut": [3]}


def _insights(_number: int, turns: Sequence[int]) -> dict[str, object]:
    insight = {"heading": "Strategic Meta-Patterns", "text": "Take the light first", "turns": turns[:1]}
    return {"reasoning": "From the summary.", "deaths": [], "insights": [insight]}


class Calls:
    """Counts, while it is open, the calls of this thread: all, and those that force a file to the disk or replace one.

    Python tells a profiler of every call of a built-in function, so nothing of the program has to be replaced. It makes
    the program slower.
    """

    def __init__(self) -> None:
        self.all = 0
        self.forced_writes = 0
        self.replacements = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(None)

    def _count(self, _frame: FrameType, event: str, called: object) -> None:
        self.all += event in {"call", "c_call"}
        if event == "c_call":
            self.forced_writes += called is os.fsync or called is os.fdatasync
            self.replacements += called is os.replace or called is os.rename


def play(
    walkthrough: Walkthrough,
    folder: Path,
    *,
    turns: int = 0,
    episodes: int = 1,
    stop: Callable[[Event], bool] = lambda _event: False,
    clock: Callable[[], float] = time.perf_counter,
    **options: object,
) -> Cost:
    """Play the commands in that work folder, in each episode until ``turns`` turns are played or each command once.

    stop: called with each event; returns whether the run is to be interrupted after the turn in flight
    clock: measures the time of the turns
    """
    player, stopping = Player(walkthrough.commands, clock), Flag()
    configuration = GameConfiguration.model_validate(
        {
            "zork_game_workdir": folder,
            "game": {"file": walkthrough.story, "seed": max(1, walkthrough.seed)},
            "max_turns_per_episode": turns or len(walkthrough.commands),
            **options,
        }
    )

    def show(event: Event) -> None:
        player.show(event)
        if stop(event):
            stopping.set()

    with (
        open_story(configuration) as parts,
        open_run(
            configuration,
            replace(parts, model=ChosenModel(player, ("scripted",))),
            episodes=episodes,
            show=show,
            stop=stopping,
        ) as run,
    ):
        run.play()
        player.cost.journal_bytes = (run.folder / JOURNAL_FILE).stat().st_size
    return player.cost


def make_warm(folder: Path, rooms: Mapping[int, str]) -> None:
    """Put memories of these locations, and of more up to 100, and 12 kB of knowledge into the work folder."""
    unknown = (number for number in range(1, 1000) if number not in rooms)
    named = dict(rooms) | {next(unknown): "Lamp Room" for _ in range(WARM_LOCATIONS - len(rooms))}
    memories = parse_memories("")
    for location_id, name in named.items():
        for number in range(WARM_MEMORIES):
            memories = memories.add_memory(location_id, name, _old_memory(number))
    (folder / "Memories.md").write_text(memories.render(), encoding="utf-8")
    knowledge, number = parse_knowledge(""), 0
    while len(knowledge.render()) < WARM_KNOWLEDGE:
        number += 1
        text = f"Whatever is locked in place {number} opens once the thing beside it was moved, and not before"
        line = KnowledgeLine(text, (Source(1, number, number),))
        knowledge = knowledge.add(KnowledgeEntry(SECTIONS[number % 3], line))
    (folder / "knowledgebase.md").write_text(knowledge.render(), encoding="utf-8")


def _old_memory(number: int) -> Memory:
    """Return one of a location's memories; the first is of what is seen on arrival."""
    text = "The lamp is lit with one command and lasts for long; without it what lives in the dark comes near. " * 2
    title, persistence = f"Brass lamp number {number} lights the way", "permanent" if number else "core"
    return Memory("DISCOVERY", title, 1, str(number + 1), 0, text, persistence)


def _old_game() -> Game:
    """Return an earlier game that fills its room in a prompt."""
    turns = (PlayedTurn(turn, "wait", f"In turn {turn} the wheel turns on. " * 4) for turn in range(1, 400))
    return Game(0, 0, "The mill.", tuple(turns))


@dataclass(frozen=True, slots=True)
class Measured:
    """What one walkthrough cost."""

    cost: Cost
    calls: Calls

    def figures(self) -> dict[str, float]:
        """Return the figures of a turn that have a bar and do not depend on the machine."""
        cost, turns = self.cost, self.cost.turns
        return {
            "model calls": cost.calls.total() / turns,
            "billed tokens": cost.billed / turns,
            "longest prompt, tokens": cost.longest,
            "function calls": self.calls.all / turns,
            "forced writes": self.calls.forced_writes / turns,
            "file replacements": self.calls.replacements / turns,
            "journal, bytes": cost.journal_bytes / turns,
        }


def measure(walkthrough: Walkthrough, rooms: Mapping[int, str] | None = None) -> Measured:
    """Play the walkthrough cold, or warm with memories of these rooms, and count."""
    with work_folder(rooms) as folder, Calls() as calls:
        return Measured(play(walkthrough, folder), calls)


def measure_times(walkthrough: Walkthrough, rooms: Mapping[int, str] | None = None) -> dict[str, float]:
    """Play the walkthrough cold or warm, and return the time of a turn without the model's."""
    with work_folder(rooms) as folder:
        seconds = play(walkthrough, folder).seconds
    return {"time, ms, p50": median(seconds) * 1000, "time, ms, p95": percentile_95(seconds) * 1000}


def growth(walkthrough: Walkthrough, rooms: Mapping[int, str] | None = None) -> float:
    """Return how many times as long a turn takes in the last fifth of a long run as in the first, at the median."""
    with work_folder(rooms) as folder:
        seconds = play(replace(walkthrough, commands=TOUR), folder, turns=LONG_RUN).seconds
    fifth = len(seconds) // 5
    return median(seconds[-fifth:]) / median(seconds[:fifth])


@contextmanager
def work_folder(rooms: Mapping[int, str] | None) -> Iterator[Path]:
    """Make a work folder on a disk: an empty one, or one with memories of these rooms."""
    with tempfile.TemporaryDirectory(dir=_LARGE_DISK if _LARGE_DISK.is_dir() else None) as name:
        if rooms is not None:
            make_warm(Path(name), rooms)
        yield Path(name)


def percentile_95(values: Sequence[float]) -> float:
    """Return the value that 95 of 100 do not exceed."""
    return quantiles(values, n=100)[94]


def main() -> int:
    """Print the figures; return 1 where a bar that does not depend on the machine is missed."""
    walkthrough = walkthrough_of(Path(sys.argv[1]) if len(sys.argv) > 1 else zork_or_own())
    cold = measure(walkthrough)
    rooms = cold.cost.rooms
    warm = measure(walkthrough, rooms)
    found = {
        kind: {**measured.figures(), **measure_times(walkthrough, known), GROWTH: growth(walkthrough, known)}
        for kind, measured, known in (("cold", cold, None), ("warm", warm, rooms))
    }
    print(f"{walkthrough.story.stem}: {cold.cost.turns} turns, score {cold.cost.score}; warm score {warm.cost.score}\n")
    show([_row(name, found["cold"][name], found["warm"][name]) for name in BARS], "A turn")
    show([*_role_rows("cold", cold.cost), *_role_rows("warm", warm.cost)], "Models, a turn")
    with work_folder(rooms) as folder:
        (folder / TRANSCRIPTS_FILE).write_text(Transcripts().with_game(_old_game()).render(), encoding="utf-8")
        full = play(walkthrough, folder)
    billed = f"{full.billed / full.turns:,.0f} billed tokens a turn, {full.longest:,} in the longest prompt"
    print(f"Warm, and with as many tokens of an earlier game as a prompt takes: {billed}\n")
    missed = [
        name
        for name, bar in BARS.items()
        if not bar.is_time and (found["cold"][name] > bar.cold or found["warm"][name] > bar.warm)
    ]
    if missed:
        print(f"Missed: {', '.join(missed)}")
    return 1 if missed else 0


def _row(name: str, cold: float, warm: float) -> Row:
    bar = BARS[name]
    return {"figure": name, "cold": cold, "at most": bar.cold, "warm": warm, "at most, warm": bar.warm}


def _role_rows(kind: str, cost: Cost) -> Iterator[Row]:
    """Yield the figures of each role, and of all together."""
    tokens = {role: [of_turn[role] for of_turn in cost.tokens] for role in cost.calls}
    tokens["all"] = [of_turn.total() for of_turn in cost.tokens]
    calls = {**cost.calls, "all": cost.calls.total()}
    shared = {**cost.shared, "all": [share for shares in cost.shared.values() for share in shares]}
    for role, of_turns in tokens.items():
        yield {
            "": kind,
            "role": role,
            "calls": calls[role] / cost.turns,
            "prompt tokens": fmean(of_turns),
            "p95": percentile_95(of_turns),
            "prefix shared with the prompt before": fmean(shared[role]) if shared.get(role) else None,
        }


if __name__ == "__main__":
    sys.exit(main())
