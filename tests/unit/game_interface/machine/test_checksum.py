"""The checksum of two parts is the CRC-32 of both as one."""

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from game_interface.core.machine.checksum import TwoPartChecksum


@given(st.lists(st.tuples(st.binary(max_size=40), st.binary(min_size=9, max_size=9)), min_size=1))
def test_the_sum_is_that_of_both_parts_as_one_whatever_came_before(parts: list[tuple[bytes, bytes]]) -> None:
    """Where the second part is the same as the last time, and where it is not."""
    checksum = TwoPartChecksum(9)
    for first, second in parts:
        expected = crc32(first + second)
        assert checksum.of(first, memoryview(second)) == expected
        assert checksum.of(first, second) == expected


@given(st.binary())
def test_without_a_second_part_the_sum_is_that_of_the_first(first: bytes) -> None:
    """A story may have no properties behind its object tree."""
    assert TwoPartChecksum(0).of(first, b"") == crc32(first)
