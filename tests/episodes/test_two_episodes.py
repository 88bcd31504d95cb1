"""What one episode learned is in the next one's prompts, in its place, except what held only for that episode."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from session.errors import LanguageModelUnavailable
from session.knowledge import INSIGHTS
from session.values import derived_seed
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.fixtures.whole_run import play_run, resume_run
from tests.unit.managers.memory_parts import learned
from zorkgpt.llm.language_model import Prompt, Role

Way = Literal["two episodes of one run", "two runs", "a run that was paused and resumed"]
WAYS: tuple[Way, ...] = ("two episodes of one run", "two runs", "a run that was paused and resumed")


# What is played: what is taken is the first episode's own doing, and its last command kills.
FIRST = ("north", "north", "take lamp", "south", "north", "south", "east", "east", "east")
SECOND = ("examine rock", "north", "examine door", "north", "examine lamp", "up", "east", "down", "wait")
TAKEN, TURNS = "take lamp", len(FIRST)
CIRCLING = 3  # turns without a point

# What the model says in the first episode. The last four are of that episode alone.
PERSISTENT, DEATH, INSIGHT, RULE = "Persistent truth", "Falls kill", "Look down first", "Things can be carried"
EPHEMERAL, DEED, AIM, THOUGHT = "Ephemeral matter", "It is in hand now", "Aim of the first", "Thought of the first"
OF_ONE_EPISODE = (EPHEMERAL, DEED, AIM, THOUGHT)


@dataclass
class Player:
    """Plays a script, and says in the first episode alone what there is to be learned.

    down_before: commands, by their place in both episodes, before which the model is down once
    prompts: of each episode, by the schema of the answer; those that were answered
    """

    down_before: set[int] = field(default_factory=set)
    played: int = 0
    prompts: dict[int, dict[str, list[str]]] = field(
        default_factory=lambda: {1: defaultdict(list), 2: defaultdict(list)}
    )

    def reply(self, role: Role, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """The next command, or the lessons of the first episode."""
        if role == "agent" and self.played in self.down_before:
            self.down_before.remove(self.played)
            return LanguageModelUnavailable("down for a moment")
        self.played += role == "agent"
        episode = 1 if self.played <= TURNS else 2
        self.prompts[episode][schema.__name__].append(prompt.user)
        if role == "agent":
            return {"reasoning": THOUGHT if episode == 1 else "", "action": (*FIRST, *SECOND)[self.played - 1]}
        if role == "critic":
            return {"reason": "", "accepted": True, "confidence": 0.0}
        if episode == 2:
            return {"memories": []} if role == "memory" else {}
        return self._learned(prompt.user, schema.__name__)

    def _learned(self, prompt: str, question: str) -> dict[str, Any]:
        if question == "ObjectivesAnswer":
            return {"reasoning": "", "objectives": [{"text": AIM, "evidence": "turn 1"}]}
        if question == "KnowledgeAnswer":
            own = [int(turn) for turn in re.findall(r"^Turn (\d+) at .* EPHEMERAL", prompt, re.MULTILINE)]
            line = {"section": "PUZZLE SOLUTIONS", "text": RULE, "turns": [1, *own]}
            return {"lines": [line, {"section": "LESSONS LEARNED", "text": DEED, "turns": own}]}
        if question == "EpisodeAnswer":
            insight = {"heading": INSIGHTS[0], "text": INSIGHT, "turns": [TURNS]}
            return {"deaths": [{"turn": TURNS, "text": DEATH}], "insights": [insight]}
        place = re.findall(r"^LOCATION: .*\(ID: (\d+)\)$", prompt, re.MULTILINE)[0]
        memories = [learned(f"{PERSISTENT} {place}")]
        taken = re.findall(rf"^Turn (\d+): {TAKEN} \(", prompt, re.MULTILINE)
        return {"memories": memories + [learned(EPHEMERAL, "ephemeral", turn=int(turn)) for turn in taken]}


def play(story: Path, folder: Path, way: Way) -> Player:
    """Both episodes were played, in that way."""
    player = Player({4, TURNS, TURNS + 3} if way == "a run that was paused and resumed" else set())
    model = ScriptedLLM(player.reply)
    options: dict[str, Any] = {
        "max_turns_per_episode": TURNS,
        "objective_update_interval": 4,
        "circling": {"turns_without_score": CIRCLING},
        "critic": {"mode": "llm"},
        "simple_memory": {"visits_in_question": 1},
    }
    if way == "two runs":
        for seed in (1, derived_seed(1, 2, "episode")):
            assert play_run(story, model, folder, seed=seed, **options).end == "done"
        return player
    run = play_run(story, model, folder, episodes=2, **options)
    while player.down_before or run.end == "paused":
        assert run.end == "paused"
        run = resume_run(story, model, folder)
    assert run.end == "done"
    return player


@pytest.fixture(scope="module")
def players(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Way, Player]:
    """The players of both episodes, by the way."""
    return {way: play(own_story, tmp_path_factory.mktemp("two"), way) for way in WAYS}


@pytest.fixture
def player(players: dict[Way, Player]) -> Player:
    """The player of two episodes of one run; whatever the way, the prompts are the same."""
    return players[WAYS[0]]


def section(prompt: str, title: str) -> str:
    """The part of an agent's prompt under that title, or ""."""
    return part(prompt, f"## {title}\n", "\n\n## ")


def here(prompt: str) -> str:
    """The id of the location that the prompt is about."""
    (found,) = re.findall(r"^L(?:ocation|OCATION): .*\(ID: (\d+)\)$", prompt, re.MULTILINE)
    return str(found)


def part(prompt: str, start: str, end: str) -> str:
    """The part of a prompt between these, or ""."""
    return prompt.partition(start)[2].partition(end)[0]


def test_memories_of_the_first_episode_are_shown_to_agent_and_memory_model_at_their_locations(player: Player) -> None:
    places = {here(prompt) for prompt in player.prompts[1]["VisitSynthesis"]}
    for prompt in player.prompts[2]["ReadingAgentAnswer"]:
        shown = re.findall(rf"{PERSISTENT} (\d+):", section(prompt, "Location Memory"))
        assert shown == ([here(prompt)] if here(prompt) in places else [])
    assert {here(prompt) for prompt in player.prompts[2]["ReadingAgentAnswer"]} & places
    asked = [prompt for prompt in player.prompts[2]["VisitSynthesis"] if here(prompt) in places]
    assert asked
    for prompt in asked:
        existing = part(prompt, "EXISTING MEMORIES:\n", "\n\n")
        assert re.findall(rf"{PERSISTENT} (\d+):", existing) == [here(prompt)]


def test_objectives_and_knowledge_are_looked_for_with_all_that_the_first_episode_found_out(player: Player) -> None:
    asked = player.prompts[2]["ObjectivesAnswer"]
    assert asked
    for prompt in asked:
        knowledge = part(prompt, "=== STRATEGIC KNOWLEDGE", "\n=== ")
        assert [line for line in (RULE, DEATH, INSIGHT) if line not in knowledge] == []
        assert PERSISTENT in part(prompt, "=== LOCATION-SPECIFIC MEMORIES ===\n", "\n===")
        assert "-->" in part(prompt, "=== MAP & ROUTING INFORMATION ===\n", "\n===")
    (update,) = player.prompts[2]["KnowledgeAnswer"]
    known = part(update, "WHAT IS KNOWN:\n", "\n\nREMEMBERED")
    assert [line for line in (RULE, DEATH, INSIGHT) if line not in known] == []


def test_the_first_prompt_of_the_second_episode_has_knowledge_and_map(player: Player) -> None:
    before, after = (player.prompts[episode]["ReadingAgentAnswer"][0] for episode in (1, 2))
    known = section(after, "What is known of this game")
    assert [line for line in (RULE, DEATH, INSIGHT) if line not in known] == []
    assert "->" in section(after, "Map")
    assert not section(before, "What is known of this game")
    assert "->" not in section(before, "Map")


def test_every_turn_of_the_second_episode_is_told_how_the_first_one_ended(player: Player) -> None:
    assert not [prompt for prompt in player.prompts[1]["ReadingAgentAnswer"] if "has begun anew" in prompt]
    for prompt in player.prompts[2]["ReadingAgentAnswer"]:
        known = f"\n{section(prompt, 'The last episode, and the plan')}"
        assert known.count("\nEpisode 1 ") == known.count("The story has begun anew since") == 1
        assert f"In turn {TURNS} of episode 1: the player died at" in known


def test_what_was_of_the_first_episode_alone_is_in_no_prompt_of_the_second(player: Player) -> None:
    first, second = (
        {kind: "\n".join(prompts) for kind, prompts in player.prompts[episode].items()} for episode in (1, 2)
    )
    assert {"ReadingAgentAnswer", "VisitSynthesis", "ObjectivesAnswer", "KnowledgeAnswer"} < {*second}
    assert [told for told in (EPHEMERAL, AIM, THOUGHT) if told not in first["ReadingAgentAnswer"]] == []
    assert [told for told in OF_ONE_EPISODE if told in "\n".join(second.values())] == []


def test_history_and_circles_begin_anew(player: Player) -> None:
    first, second = (player.prompts[episode]["ReadingAgentAnswer"] for episode in (1, 2))
    circles = [[section(prompt, "Points").lower() for prompt in asked] for asked in (first, second)]
    assert any("no point scored" in told for told in circles[0])
    assert not any("no point scored" in told for told in circles[1][:CIRCLING])
    assert circles[1][0] == ""
    assert section(second[0], "This game so far") == ""
    games = [prompt.partition("## This game so far\n")[2] for prompt in second]
    turns = enumerate(SECOND[: len(second) - 1], start=1)
    assert [games[turn].count(f"\nTurn {turn}: {command}") for turn, command in turns] == [1] * (len(second) - 1)


@pytest.mark.parametrize("way", WAYS[1:])
def test_the_second_episode_is_asked_the_same_in_whatever_way_it_came(players: dict[Way, Player], way: Way) -> None:
    assert players[way].prompts == players[WAYS[0]].prompts
