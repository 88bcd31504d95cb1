"""How much of an episode is in the prompt for its lessons, and in the report to the next episode."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from session.knowledge import KnowledgeLine, Source
from tests.unit.managers.episode_parts import EpisodePlay
from zorkgpt.llm.stand_ins import Reply

KNOWN, WORDS = "fumes " * 500, "word " * 100


def nothing_learnt(*_: object) -> Reply:
    return {"reasoning": "It was foggy."}


def eventful(workdir: Path, budget: int = 30_000) -> EpisodePlay:
    """The eighth episode, with 45 points and then seven deaths; the seven before were ended after a turn."""
    play = EpisodePlay(workdir, nothing_learnt, prompt_budgets={"analysis": budget})
    play.knowledge.known = KNOWN
    lines = (KnowledgeLine(f"{number} {WORDS}", (Source(1, number, number),)) for number in range(1, 20))
    play.knowledge.insight_lines = {"Environmental Knowledge": tuple(lines)}
    for episode in range(1, 8):
        play.begin(episode)
        play.turn()
        play.manager.end("over")
    play.begin(8)
    for score in range(1, 46):
        play.turn(f"stir vat {score} {WORDS}", score=score)
    for _ in range(7):
        for step in range(8):
            play.turn(f"step {step} {WORDS}", WORDS)
        play.turn(f"drink {WORDS}", WORDS, died=True)
    return play


def told(prompt: str) -> dict[str, list[str]]:
    """What the prompt has of each kind of thing."""
    deaths = prompt[prompt.index("Death in turn") :].split("Death in turn ")[1:]
    return {
        "earlier": re.findall(r"Episode (\d) came to", prompt[: prompt.index("Episode 8")]),
        "points": re.findall(r"`stir vat (\d+) ", prompt),
        "deaths": [death.split(":")[0] for death in deaths],
        "steps": [str(death.count("Response: ")) for death in deaths],
        "known": ["fumes"] * ("fumes " * 20 in prompt),
    }


def test_the_model_is_told_of_the_latest_five_episodes_and_deaths_and_of_forty_points(tmp_path: Path) -> None:
    play = eventful(tmp_path)
    play.manager.end("over")
    assert told(play.prompt) == {
        "earlier": ["3", "4", "5", "6", "7"],
        "points": [str(score) for score in range(6, 46)],
        "deaths": ["72", "81", "90", "99", "108"],
        "steps": ["6"] * 5,
        "known": ["fumes"],
    }


def test_for_want_of_room_all_lists_get_shorter_and_the_last_death_never_goes(tmp_path: Path) -> None:
    seen: list[dict[str, int]] = []
    for budget in range(9000, 1200, -300):
        play = eventful(tmp_path / str(budget), budget)
        play.manager.end("over")
        if not play.llm.calls:
            break
        prompt = play.prompt
        part = {name: len(found) for name, found in told(prompt).items()} | {"steps": int(told(prompt)["steps"][-1])}
        if part not in seen:
            seen.append(part)
    everything = {"earlier": 5, "points": 40, "deaths": 5, "steps": 6, "known": 1}
    assert seen[0] == everything
    assert len(seen) > 4
    for fuller, shorter in pairwise(seen):
        assert all(shorter[name] <= fuller[name] for name in ("earlier", "points", "deaths", "known"))
    assert all(part["deaths"] and part["steps"] for part in seen)


def test_the_next_player_is_told_of_three_deaths_and_the_first_eight_gains(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, nothing_learnt)
    for score in range(1, 11):
        play.turn(f"stir {score}", score=score)
    for _ in range(4):
        play.die()
    play.manager.end("over")
    play.begin(2)
    handover = play.manager.handover()
    assert re.findall(r"In turn (\d+) of episode 1", handover) == ["14", "16", "18"]
    assert re.findall(r"`stir (\d+)`", handover.split("Points came")[1]) == [str(score) for score in range(1, 9)]


def test_a_death_is_told_with_the_three_commands_before_it(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, nothing_learnt)
    for step in range(1, 6):
        play.turn(f"step {step}")
    play.die()
    play.manager.end("over")
    play.begin(2)
    assert "on `drink dye` after `step 4`, `step 5`, `east`: " in play.manager.handover()


def test_the_next_player_is_told_so_in_1200_characters(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, nothing_learnt)
    for score in range(1, 9):
        play.turn(f"{score}{'x' * 75}", score=score)
    for _ in range(3):
        play.turn("drink dye", "y" * 400, died=True)
    play.manager.end("over")
    play.begin(2)
    handover = play.manager.handover()
    assert (len(handover), handover[-4:]) == (1200, " […]")


def test_of_a_long_command_the_beginning_is_told_and_of_a_long_response_what_there_is_room_for(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, nothing_learnt)
    play.turn("x" * 900, f"It {'y' * 9000} bites.", died=True)
    play.manager.end("over")
    play.begin(2)
    handover = play.manager.handover()
    assert max(map(len, re.findall("x+", handover))) == 80 - len(" […]")
    assert handover.endswith(' bites."')
    assert 1150 < len(handover) <= 1200


def test_the_cause_of_a_death_is_told_whole(tmp_path: Path) -> None:
    cause = f"You read the chant aloud. {'The sand glows. ' * 60}The monster bites your throat."
    play = EpisodePlay(tmp_path, nothing_learnt)
    play.turn("read writing", cause, died=True)
    play.manager.end("over")
    assert f"Response: {cause}\n" in f"{play.prompt}\n"
