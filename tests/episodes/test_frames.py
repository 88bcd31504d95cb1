"""Between a turn and the request to its model there are few functions of our own."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from threading import Event as Flag

from orchestration.opening import open_parts
from orchestration.run import open_run
from session.game_configuration import GameConfiguration
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Streams

ROOT = Path(__file__).parents[2]
MOST = 9


class LooksAtTheCaller(Streams):
    """Answers, and notes the functions that the main thread is in: ours before it entered those of a library."""

    def play(self, handler: Handler) -> None:
        frame = sys._current_frames()[threading.main_thread().ident or 0]
        names: list[str] = []
        while frame.f_back is not None:
            file = Path(frame.f_code.co_filename)
            is_own = file.is_relative_to(ROOT) and ".venv" not in file.parts
            names = [frame.f_code.co_name, *names] if is_own else names
            if frame.f_code.co_name == "_play_turn":
                CALLS.append(names)
            frame = frame.f_back
        super().play(handler)


CALLS: list[list[str]] = []


def test_nine_functions_of_our_own_lie_between_a_turn_and_its_request(own_story: Path, tmp_path: Path) -> None:
    CALLS.clear()
    answer = LooksAtTheCaller((json.dumps({"reasoning": "", "action": "north"}),))
    options = {"game": {"file": own_story}, "max_turns_per_episode": 1, "simple_memory": {"enabled": False}}
    with MisbehavingServer(answer) as server:
        configuration = GameConfiguration.model_validate(
            {**options, "zork_game_workdir": tmp_path, "llm": {"base_url": server.base_url}, "agent_model": "m"}
        )
        with (
            open_parts(configuration) as parts,
            open_run(configuration, parts, episodes=1, show=lambda _event: None, stop=Flag()) as run,
        ):
            run.play()
    (names,) = CALLS
    assert names[0] == "_play_turn"
    assert names.index("ask", names.index("answer")) < MOST, names
