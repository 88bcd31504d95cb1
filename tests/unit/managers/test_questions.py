"""Questions at an episode's end: what they are answered from."""

from __future__ import annotations

from pydantic import BaseModel

from managers.questions import Question
from zorkgpt.llm.language_model import Prompt
from zorkgpt.llm.scripted_llm import ScriptedLLM


def test_the_question_about_the_episode_has_the_material_in_every_form_and_no_other_has_it() -> None:
    prompts = Prompt("Learn.", "Played."), Prompt("Learn.", "Played, as above.")
    question = Question(
        ScriptedLLM(), "analysis", prompts[0], BaseModel, lambda _: (), "episode", {"knowledge": prompts[1]}
    )
    asked = question.with_material("\n\nGames.")
    told = [asked.prompt, *asked.beside.values()]
    assert [each.user for each in told] == ["Played.\n\nGames.", "Played, as above.\n\nGames."]
    assert {each.system for each in told} == {"Learn."}
    other = Question(ScriptedLLM(), "analysis", prompts[0], BaseModel, lambda _: (), "knowledge")
    assert (other.with_material("\n\nGames."), question.with_material("")) == (other, question)
