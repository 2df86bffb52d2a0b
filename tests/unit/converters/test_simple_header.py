"""Headers as text, where Java's converter does otherwise; what is alike, the conformance tests compare."""

import pytest

from connect import DataError
from connect.converters.simple_header import SimpleHeaderConverter


@pytest.mark.parametrize("text", ['{1:"a",true:"b"}', "{false:1,0:2}"])
def test_a_map_with_two_keys_that_are_one_to_python_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="two keys that only Java tells apart"):
        SimpleHeaderConverter().to_connect_header("t", "h", text.encode())


def test_the_last_of_two_equal_keys_counts() -> None:
    read = SimpleHeaderConverter().to_connect_header
    assert read("t", "h", b"{1:1,1:2}").value == {1: 2}
    assert read("t", "h", b'{1:1,1:2,"x":3}').value == {1: 2, "x": 3}
    assert read("t", "h", b"{1:1,1.5:2,1.0:3}").value == {1.0: 3, 1.5: 2}
