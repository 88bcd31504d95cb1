"""The story can be won as its author means it, and nothing on the way has changed."""

from zorkgpt.testing import PlayCommands, ScriptedRun


def test_the_walkthrough_scores(play_commands: PlayCommands, walkthrough: list[str]) -> None:
    *_, last = play_commands(walkthrough)
    assert (last.score, last.died) == (5, False)
    assert last.location is not None
    assert last.location.name == "Hall"
    assert "storm lamp" in [thing.name for thing in last.inventory or ()]


def test_a_player_learns_the_way(scripted_run: ScriptedRun, walkthrough: list[str]) -> None:
    run = scripted_run(walkthrough, episodes=2)
    assert (run.summary.state, run.summary.best_score) == ("done", 5)
