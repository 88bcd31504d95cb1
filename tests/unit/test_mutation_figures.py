"""What ``make mutants`` prints at its end."""

from __future__ import annotations

from tests.mutants import package_of, table

FOUND = {
    "managers.map.x_way__mutmut_1": "killed",
    "managers.map.x_way__mutmut_2": "survived",
    "managers.memory.prompt.x_text__mutmut_1": "caught by type check",
    "managers.memory.prompt.x_text__mutmut_2": "timeout",
    "managers.memory.prompt.x_text__mutmut_3": "no tests",
    "session.journal.xǁJournalǁcut__mutmut_1": "segfault",
}


def test_a_line_for_each_package_and_one_for_all() -> None:
    assert table(FOUND).splitlines() == [
        "package          mutants  killed  caught by type check  timeout  survived  no tests  other  found",
        "managers               2       1                     0        0         1         0      0  50.0%",
        "managers.memory        3       0                     1        1         0         1      0  66.7%",
        "session                1       0                     0        0         0         0      1   0.0%",
        "all                    6       1                     1        1         1         1      1  50.0%",
    ]


def test_of_a_sample_only_what_was_drawn_counts() -> None:
    assert table(FOUND, ["managers.map.x_way__mutmut_1"]).splitlines()[-1].split() == [
        *("all", "1", "1", "0", "0", "0", "0", "0", "100.0%")
    ]


def test_the_functions_of_a_package_itself_are_its_own() -> None:
    assert package_of("session.x_open__mutmut_1") == "session"
