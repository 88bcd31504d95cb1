"""The file of summaries keeps what it does not understand, and reads back what was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from managers.episodes import Death, EpisodeSummary, KeepSummary, Scored, Step, parse_summaries
from session.values import Location

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLACES = st.none() | st.builds(Location, st.integers(1, 999), TEXTS)
STEPS = st.builds(Step, st.integers(1, 999), PLACES, TEXTS, TEXTS)
SUMMARIES = st.builds(
    EpisodeSummary,
    episode=st.integers(1, 3),
    end=st.sampled_from(["won", "lost", "turn_limit"]),
    turns=st.integers(0, 999),
    scored=st.tuples(st.builds(Scored, st.integers(1, 999), PLACES, TEXTS, st.integers(-9, 9))),
    deaths=st.tuples(st.builds(Death, st.tuples(STEPS, STEPS))),
    critic_score=st.none() | st.floats(-1, 1),
)


@given(st.text())
def test_reading_and_writing_changes_nothing(text: str) -> None:
    assert parse_summaries(text).render() == text


@given(TEXTS, st.lists(SUMMARIES))
def test_the_latest_summary_of_each_episode_reads_back(text: str, kept: list[EpisodeSummary]) -> None:
    document = parse_summaries(text)
    for summary in kept:
        document = KeepSummary(summary).apply_to(document)
    known = {summary.episode: summary for summary in kept}
    assert parse_summaries(document.render()).before(4) == [known[episode] for episode in sorted(known)]
    assert document.render().startswith(text)


@given(SUMMARIES)
def test_keeping_a_summary_twice_gives_the_very_same_document(summary: EpisodeSummary) -> None:
    document = KeepSummary(summary).apply_to(parse_summaries("# mine"))
    assert KeepSummary(summary).apply_to(document) is document
    assert KeepSummary(summary).apply_to(parse_summaries(document.render())).render() == document.render()


def test_half_a_character_of_a_broken_story_does_not_keep_a_summary_out_of_the_file() -> None:
    summary = EpisodeSummary(1, "over", 1, scored=(Scored(1, Location(11, "Gate \ud800"), "wait", 1),))
    document = KeepSummary(summary).apply_to(parse_summaries(""))
    (kept,) = parse_summaries(document.render().encode().decode()).before(2)
    assert kept.scored[0].location == Location(11, "Gate ?")
