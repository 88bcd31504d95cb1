"""The log is lines of JSON, and never blocks play."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from orchestration.run_log import open_log
from session.errors import StoreError
from tests.fixtures.full_disk import no_file_may_pass


def test_a_message_is_in_the_file_at_once_as_a_line_of_json_and_an_error_alone_is_told_by_logging_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.jsonl"
    with open_log(path) as log:
        log.warning("no way", exit="no\rth\udc80")
        line = json.loads(path.read_text(encoding="utf-8"))
        log.error("memories are not in their file", error="disk full", manager="x")
    assert line.pop("timestamp")
    assert line == {"event": "no way", "level": "warning", "exit": "no\rth\udc80"}
    assert [record.getMessage() for record in caplog.records] == ["memories are not in their file: disk full"]


def test_what_the_program_tells_by_logging_is_in_the_file_as_long_as_it_is_open(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "log.jsonl", logging.getLogger("zorkgpt.llm.breaker")
    with open_log(path) as log:
        elsewhere.warning("the %s model failed", "critic")
        log.error("once", error="only")
    elsewhere.warning("later")
    first, second = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert (first["event"], first["logger"]) == ("the critic model failed", "zorkgpt.llm.breaker")
    assert second["event"] == "once"


def test_on_a_full_disk_messages_are_lost_and_nothing_is_raised(tmp_path: Path) -> None:
    with no_file_may_pass(0), open_log(tmp_path / "log.jsonl") as log:
        log.warning("no way")
        log.info("no way either")


def test_a_log_that_is_a_link_to_elsewhere_or_cannot_be_opened_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write the log"), open_log(tmp_path):
        pass
    (tmp_path / "run").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "run" / "log.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(StoreError, match="outside of its folder"), open_log(tmp_path / "run" / "log.jsonl"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
