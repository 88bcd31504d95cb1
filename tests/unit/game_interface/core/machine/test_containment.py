from __future__ import annotations

from game_interface.core.machine.containment import UpperWindow


def window(*drawn: tuple[int, int, str]) -> UpperWindow:
    """A window in which texts were drawn at rows and columns; a text in capitals is in reverse video."""
    window = UpperWindow()
    for row, column, text in drawn:
        window.row, window.column = row, column
        window.write(text.encode("latin-1"), is_reversed=text.isupper())
    return window


def test_what_is_drawn_later_replaces_what_was_there() -> None:
    assert window((0, 0, "  one\n  two"), (0, 0, "> "), (0, 0, "  "), (1, 0, "> ")).text() == "  one\n> two"


def test_margins_are_left_out_and_wide_gaps_made_narrow() -> None:
    assert window((1, 5, "left"), (1, 70, "right"), (5, 7, "below")).text() == "left    right\n\n  below"


def test_reverse_video_marks_an_entry_but_not_the_bar_at_the_top() -> None:
    bar = (0, 0, f"{'':12}MENU{'':12}")
    assert window(bar, (2, 12, "apple"), (3, 12, "PEAR")).text(marks=True) == "MENU\n\napple\n[PEAR]"
    assert window(bar, (1, 12, "APPLE"), (2, 12, "pear")).text(marks=True) == "MENU\n[APPLE]\npear"
    assert window((0, 2, "APPLE"), (1, 2, "pear")).text(marks=True) == "[APPLE]\npear"
    assert window((0, 2, "APPLE"), (1, 2, "pear")).text() == "APPLE\npear"


def test_an_erased_window_is_empty() -> None:
    drawn = window((3, 3, "text"))
    drawn.clear()
    assert (drawn.text(), drawn.row, drawn.column) == ("", 0, 0)
