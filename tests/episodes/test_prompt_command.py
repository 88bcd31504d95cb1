"""``zorkgpt prompt`` as typed: every prompt of a run, rebuilt and compared."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from session.events import ModelAnswered
from session.files.journal import JOURNAL_FILE, read_journal
from session.files.run_folders import find_run
from tests.fixtures.command_line import ran
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Says, Streams, says_error
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.rewritten_journal import asked_differently
from tests.fixtures.troubled_server import answer_to
from tests.fixtures.typed_command import printed, refused, typed

pytestmark = pytest.mark.usefixtures("in_own_folder")

ROOT = Path(__file__).parents[2]
TURNS = 30
PRICE = 'prices={"served": {"input": 1000.0, "output": 0.0}}'


class Lives:
    """A healthy server whose agent never goes east into the deadly mud, and is asked in every turn."""

    def play(self, handler: Handler) -> None:
        answer = json.loads(answer_to(handler.server.asked[-1].body))
        single: dict[str, Any] = {"then": [], "follow": None, "go_to": None}
        safe: dict[str, Any] = {"action": "look"} if answer.get("action") == "east" else {}
        safe |= {name: value for name, value in single.items() if name in answer}
        Streams((json.dumps({**answer, **safe}),)).play(handler)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with a run of our own story. No test changes it."""
    folder = tmp_path_factory.mktemp("played")
    with MisbehavingServer(Lives()) as server, pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        printed("run", "--max-turns", str(TURNS), "--quiet", "--base-url", server.base_url, "--workdir", "work")
    return folder / "work"


def _turns_of_calls(played: Path, *chosen: str) -> list[str]:
    """Return the turn of each recorded call of the agent."""
    shown = typed("prompt", *chosen, "--role", "agent", "--json", "--workdir", str(played))
    return [str(json.loads(line)["turn"]) for line in shown.out.splitlines()]


def _turn_of_one_call(played: Path) -> str:
    return next(turn for turn, count in Counter(_turns_of_calls(played)).items() if count == 1)


def test_every_prompt_of_a_long_run_is_printed_and_its_checksum_is_the_recorded_one(played: Path) -> None:
    answered = [line.event for line in read_journal(find_run(played)) if isinstance(line.event, ModelAnswered)]
    assert len(answered) > TURNS
    calls = [json.loads(line) for line in printed("prompt", "--json", "--workdir", str(played)).splitlines()]
    assert all(call["is_as_recorded"] for call in calls)
    assert [(call["role"], call["recorded"]["prompt_sha256"]) for call in calls] == [
        (event.role, event.prompt_sha256) for event in answered
    ]
    text = typed("prompt", "--workdir", str(played)).text
    said = f"{len(answered)} calls of run {find_run(played).name} of tidehouse"
    assert text.endswith(f"{said}; the checksums of all its prompts are the recorded ones.\n")


def test_one_turn_and_one_role_can_be_asked_for(played: Path) -> None:
    text = printed("prompt", "7", "--role", "agent", "--workdir", str(played))
    assert text.startswith("=== Episode 1, turn 7: agent, ")
    assert text.count("=== Episode 1, turn 7: agent") == text.count("=== Episode") == text.count("--- system") >= 1
    assert '"action": ' in text.partition("--- answer")[2]


def test_for_one_turn_nothing_that_came_after_it_is_read(played: Path, tmp_path: Path) -> None:
    work = shutil.copytree(played, tmp_path / "work")
    journal = find_run(work) / JOURNAL_FILE
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[: len(lines) // 2], b"damaged\n", *lines[len(lines) // 2 :]]))
    of_turn = typed("prompt", "7", "--json", "--workdir", str(work))
    assert (of_turn.status, of_turn.out) == (0, typed("prompt", "7", "--json", "--workdir", str(played)).out)
    assert typed("prompt", str(TURNS - 1), "--workdir", str(work)).status != 0


@pytest.mark.slow
def test_after_a_change_of_one_template_the_program_says_that_it_asks_differently(played: Path, tmp_path: Path) -> None:
    """The program is copied, one word of one of its templates is another, and the copy rebuilds the prompts."""
    program = tmp_path / "program"
    for package in ("game_interface", "managers", "orchestration", "session", "zorkgpt"):
        shutil.copytree(ROOT / package, program / package, ignore=shutil.ignore_patterns("__pycache__"))
    assert ran(program, "prompt", "1", "--workdir", str(played)).status == 0
    template = program / "zorkgpt" / "prompts" / "agent.md"
    template.write_text(template.read_text().replace("You play", "You solve", 1))
    shown = ran(program, "prompt", "--workdir", str(played))
    assert shown.status == 1
    first, *_, last = shown.text.splitlines()
    assert first.endswith(": not what was asked when the run was played")
    assert "You solve" in shown.text
    assert f"This version of the program plays run {find_run(played).name} differently from turn 1 on" in last


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("99",), "99: no model was asked in such a turn of run "),
        (("7", "--role", "info_ext"), "7: no model was asked as info_ext in such a turn of run "),
        (("7", "--role", "poet"), "--role poet: expected one of agent, critic, "),
        (("nothing", "seven"), "there is no run nothing"),
        (("2:x",), "there is no run 2:x"),
    ],
)
def test_what_there_is_not_is_one_line(played: Path, arguments: tuple[str, ...], words: str) -> None:
    shown = typed("prompt", *arguments, "--workdir", str(played))
    assert shown.status != 0
    assert words in shown.err.decode()


def test_a_run_of_a_version_that_asked_differently_says_so(own_story: Path, tmp_path: Path) -> None:
    work = shutil.copytree(RECORDED, tmp_path / "work")
    asked_differently(find_run(work), call=9)
    shown = typed("prompt", "--workdir", str(work), "--game", str(own_story))
    assert shown.status == 1
    assert ": not what was asked when the run was played\n" in shown.text
    assert "no prompt after it can be rebuilt" in shown.text.splitlines()[-1]


def test_an_export_holds_the_prompts_where_they_are_asked_for(played: Path) -> None:
    run = find_run(played).name
    without = typed("runs", "export", run, "--workdir", str(played)).text
    assert typed("runs", "export", run, "--format", "md", "--workdir", str(played)).text == without
    with_prompts = typed("runs", "export", run, "--prompts", "--workdir", str(played)).text
    assert "--- system" not in without
    assert with_prompts.count("    --- system") > TURNS
    as_json = typed("runs", "export", run, "--prompts", "--format", "json", "--workdir", str(played))
    first = json.loads(typed("prompt", "--json", "--workdir", str(played)).out.splitlines()[0])
    assert json.loads(as_json.text)["calls"][0]["user"] in first["user"]
    refused = typed("runs", "export", run, "--prompts", "--format", "csv", "--workdir", str(played))
    assert (refused.status, "CSV cannot contain prompts" in refused.err.decode()) == (2, True)


@dataclass(frozen=True, slots=True)
class Decides:
    """A server whose agent always answers with this decision."""

    decision: Mapping[str, object] = field(default_factory=lambda: {"action": "jump"})

    def play(self, handler: Handler) -> None:
        answer = json.loads(answer_to(handler.server.asked[-1].body))
        Streams((json.dumps({**answer, "then": [], **self.decision} if "action" in answer else answer),)).play(handler)


def _files(work: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in work.rglob("*") if path.is_file() and path.suffix != ".lock"}


@pytest.fixture(scope="module")
def once(played: Path) -> dict[str, Any]:
    """The call of a later turn whose first proposal was accepted."""
    lines = typed("prompt", "--role", "agent", "--json", "--workdir", str(played)).out.splitlines()
    calls = [json.loads(line) for line in lines]
    turns = Counter(call["turn"] for call in calls)
    return next(call for call in calls if turns[call["turn"]] == 1 and call["turn"] > 6)


def _asked(server: MisbehavingServer) -> list[str]:
    """The prompts that the server was sent."""
    return ["".join(each["content"] for each in asked.body["messages"]) for asked in server.asked]


def test_a_recorded_prompt_is_sent_again_and_the_answers_are_shown_side_by_side_with_the_price(
    played: Path, once: dict[str, Any]
) -> None:
    before = _files(played)
    recorded, turn = once, str(once["turn"])
    with MisbehavingServer(Decides()) as server:
        options = ("--base-url", server.base_url, "--model", "cheap", "--workdir", str(played))
        price = ("--set", PRICE)
        shown = printed("prompt", turn, "--role", "agent", "--ask", "--times", "2", *price, *options)
        sent = server.asked
    lines = {line.split()[0]: line for line in shown.splitlines()}
    assert lines["action"].split()[-2:] == ["jump", "jump"]
    assert recorded["recorded"]["answer"]["action"].split()[0] in lines["action"]
    assert "the prompt is as recorded" in shown
    assert "2 answers of served, 20 tokens, $0.0140. Nothing was written to the run." in shown
    assert _asked(server) == [recorded["system"] + recorded["user"]] * 2
    assert len({each.body["seed"] for each in sent}) == len(sent)
    assert {each.body["model"] for each in sent} == {"cheap"}
    assert _files(played) == before


def test_a_prompt_is_rebuilt_with_another_template_from_the_recorded_answers(
    played: Path, once: dict[str, Any], tmp_path: Path
) -> None:
    template = tmp_path / "mine.md"
    original = (ROOT / "zorkgpt" / "prompts" / "agent.md").read_text(encoding="utf-8")
    template.write_text(original.replace("You play", "You solve", 1), encoding="utf-8")
    recorded, turn = once, str(once["turn"])
    with MisbehavingServer(Decides()) as server:
        options = ("--base-url", server.base_url, "--workdir", str(played), "--set", f"prompts.agent={template}")
        shown = typed("prompt", turn, "--role", "agent", "--ask", *options)
        fewer = typed("prompt", turn, "--role", "agent", "--ask", "--set", "map.shown=false", *options[:-2])
        (sent, without) = _asked(server)
    assert "rebuilt, with another text" in shown.text
    assert sent == (recorded["system"] + recorded["user"]).replace("You play", "You solve", 1)
    assert fewer.status == 0
    assert "Map" in sent
    assert "Map" not in without


def test_a_series_of_turns_is_a_table(played: Path) -> None:
    chosen = ("--turns", "3..12", "--role", "agent", "--workdir", str(played))
    recorded = [json.loads(line) for line in typed("prompt", *chosen, "--json").out.splitlines()]
    with MisbehavingServer(Decides()) as server:
        shown = typed("prompt", *chosen, "--ask", "--times", "2", "--base-url", server.base_url)
        as_json = typed("prompt", *chosen, "--ask", "--json", "--base-url", server.base_url)
    rows = [line.split() for line in shown.text.splitlines()[1:-1]]
    assert [row[0] for row in rows] == [f"1:{call['turn']}" for call in recorded] != []
    assert all(row[-3:] == ["2", "x", "jump"] for row in rows)
    calls = [json.loads(line) for line in as_json.out.splitlines()]
    assert [call["recorded"] for call in calls] == [call["recorded"] for call in recorded]
    assert {call["answers"][0]["answer"]["action"] for call in calls} == {"jump"}


def test_commands_after_the_first_are_a_part_of_an_answer_in_the_table_of_a_series(played: Path) -> None:
    chosen = ("--turns", "3..12", "--role", "agent", "--workdir", str(played))
    with MisbehavingServer(Decides(), Decides({"action": "jump", "then": ["wait", "north"]})) as server:
        shown = printed("prompt", *chosen, "--ask", "--base-url", server.base_url)
    assert [line.split("  ")[-1].strip() for line in shown.splitlines()[1:3]] == ["jump", "jump, then wait, then north"]


def test_a_way_in_an_answer_is_shown_in_place_of_the_command_beside_it(played: Path) -> None:
    calls = _turns_of_calls(played, "--turns", "8..9")
    chosen = ("--turns", "8..9", "--role", "agent", "--workdir", str(played))
    with MisbehavingServer(Decides({"action": "wait", "go_to": 7})) as server:
        shown = typed("prompt", *chosen, "--ask", "--base-url", server.base_url)
    assert set(calls) == {"8", "9"}
    assert [line.split()[-2:] for line in shown.text.splitlines()[1:-1]] == [["go_to", "7"]] * len(calls)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--ask",), "--ask needs a turn"),
        (("7", "--times", "2"), "need --ask"),
        (("7", "--turns", "3..4"), "--turns 3..4: expected two turns such as 10..40, and no other turn"),
        (("--turns", "3"), "--turns 3: expected two turns"),
        (("--turns", "20..10"), "--turns 20..10: expected the earlier turn first"),
        (("2:7",), "2:7: the run has only episode 1"),
        (("2:7", "--ask"), "2:7: the run has only episode 1"),
        (("--turns", "1:1..2:2"), "--turns 2:2: the run has only episode 1"),
        (("7", "--ask", "--role", "info_ext", "--base-url", "http://127.0.0.1:9"), "has no such model call"),
    ],
)
def test_what_cannot_be_asked_again_is_one_line(played: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(2, "prompt", *arguments, "--workdir", str(played))


def test_a_refused_prompt_is_shown_as_no_answer_with_the_time_that_it_took(played: Path) -> None:
    with MisbehavingServer(says_error(400, "too long")) as server:
        options = ("--role", "agent", "--ask", "--base-url", server.base_url, "--workdir", str(played))
        shown, as_json = (typed("prompt", _turn_of_one_call(played), *options, *form) for form in ((), ("--json",)))
    assert json.loads(as_json.out)["answers"][0]["seconds"] > 0
    assert shown.status == 1
    assert "no answer" in shown.text
    last = shown.text.splitlines()[-1]
    assert last == "0 answers, 1 without an answer, tokens unknown, price unknown. Nothing was written to the run."


def test_an_unusable_answer_that_the_server_did_not_count_is_named_beside_the_tokens_and_the_price(
    played: Path,
) -> None:
    options = ("--times", "2", "--set", PRICE, "--workdir", str(played))
    with MisbehavingServer(Decides(), Streams(("nonsense",), usage=None)) as server:
        turn = _turn_of_one_call(played)
        shown = printed("prompt", turn, "--role", "agent", "--ask", "--base-url", server.base_url, *options)
    assert "10 tokens, $0.0070, tokens and price unknown for 1 of 2. " in shown.splitlines()[-1]


@pytest.mark.parametrize("broken", [says_error(500, "broken inside"), says_error(401, "who are you")])
def test_a_series_ends_at_the_first_failure_of_the_server_and_prints_what_was_answered_before(
    played: Path, broken: Says
) -> None:
    with MisbehavingServer(Decides(), says_error(400, "too long"), broken) as server:
        options = ("--base-url", server.base_url, "--set", "llm.patience=0", "--workdir", str(played))
        shown = typed("prompt", "--turns", "1..6", "--role", "agent", "--ask", *options)
        number = len(server.asked)
    assert (shown.status != 0, number) == (True, 3), shown
    _, first, refused, last = shown.text.splitlines()
    assert (first.split()[-1], "too long" in refused) == ("jump", True)
    unsent = len(_turns_of_calls(played, "--turns", "1..6")) - 2
    assert last.startswith(f"1 answer of served, 1 without an answer, {unsent} not requested, ")
    (error,) = shown.err.decode().splitlines()
    assert "agent: " in error


def test_a_server_that_is_down_is_one_line_soon(played: Path) -> None:
    options = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--set", "llm.patience=0")
    for form in ((), ("--json",)):
        shown = typed("prompt", "--turns", "1..6", "--ask", *options, *form, "--workdir", str(played))
        assert (shown.status, shown.text, len(shown.err.splitlines())) == (1, "", 1), shown


def test_without_the_option_a_server_that_is_down_is_waited_for_a_few_seconds(played: Path) -> None:
    busy = says_error(429, "busy", headers={"Retry-After": "60"})  # less than the patience of a run
    with MisbehavingServer(busy) as server:
        shown = typed("prompt", "7", "--ask", "--base-url", server.base_url, "--workdir", str(played))
    assert (shown.status, len(server.asked)) == (1, 1)
    assert "asks to wait 60 s" in shown.err.decode()


def test_tokens_that_the_server_does_not_count_are_unknown(played: Path) -> None:
    answer = Streams((json.dumps({"reasoning": "", "action": "jump", "then": []}),), usage=None)
    with MisbehavingServer(answer, says_error(400, "too long")) as server:
        options = ("--base-url", server.base_url, "--workdir", str(played))
        shown = printed("prompt", _turn_of_one_call(played), "--role", "agent", "--ask", "--times", "2", *options)
    lines = shown.splitlines()
    assert next(line for line in lines if line.startswith("tokens")).count("unknown") == 2
    assert lines[-1].startswith("1 answer of served, 1 without an answer, tokens unknown, ")


def test_a_run_of_a_version_that_asked_differently_is_asked_this_versions_prompts(
    played: Path, own_story: Path, tmp_path: Path
) -> None:
    work = shutil.copytree(played, tmp_path / "work")
    asked_differently(find_run(work), call=3)
    with MisbehavingServer(Decides()) as server:
        options = ("--base-url", server.base_url, "--workdir", str(work), "--game", str(own_story))
        shown = printed("prompt", "--turns", "1..6", "--role", "agent", "--ask", *options)
    kinds = {"rebuilt" if "rebuilt, with another text" in line else "same" for line in shown.splitlines()[1:-1]}
    assert kinds == {"rebuilt", "same"}
