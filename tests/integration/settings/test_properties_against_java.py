"""Our reader of .properties files against java.util.Properties, on files by hand and files made up by hypothesis."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.settings.properties import PropertiesError, loads
from tests.support.java import JavaProgram

# Reads a file name a line; answers with a JSON object a line, or with "error".
ORACLE = r"""
import java.io.*; import java.nio.charset.StandardCharsets; import java.nio.file.*; import java.util.*;
public class Oracle {
    static String quoted(String s) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : s.toCharArray()) out.append(String.format("\\u%04x", (int) c));
        return out.append('"').toString();
    }
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String file; (file = in.readLine()) != null; ) {
            Properties properties = new Properties();
            try (Reader reader = Files.newBufferedReader(Paths.get(file))) {
                properties.load(reader);
                StringJoiner members = new StringJoiner(",", "{", "}");
                for (String key : properties.stringPropertyNames())
                    members.add(quoted(key) + ":" + quoted(properties.getProperty(key)));
                System.out.println(members);
            } catch (IllegalArgumentException malformed) {
                System.out.println("\"error\"");
            }
        }
    }
}
"""


Read = Callable[[str], dict[str, str] | str]


@pytest.fixture(scope="module")
def java(java_program: Callable[..., JavaProgram], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """What java.util.Properties makes of a text."""
    file: Path = tmp_path_factory.mktemp("asked") / "asked.properties"
    with java_program(ORACLE).answering() as ask:

        def read(text: str) -> dict[str, str] | str:
            file.write_bytes(text.encode())
            found: dict[str, str] | str = json.loads(ask(file))
            return found

        yield read


def agree(text: str, java: Read) -> None:
    mine, theirs = ours(text), java(text)
    if re.search("[\ud800-\udfff]", json.dumps(theirs, ensure_ascii=False)):
        theirs = "error"  # half of a surrogate pair: Java carries it along, we refuse it
    if re.search(r"\\(\r\n|\r|\n)?[ \t\f]*\Z", text) and isinstance(theirs, dict) and theirs.get("") == "":
        # Where a lone backslash ends the file, Java finds an empty key after "\n" and none after "\r\n". We find none.
        assert isinstance(mine, dict)
        mine[""] = ""
    assert mine == theirs


def ours(text: str) -> dict[str, str] | str:
    try:
        return dict(loads(text))
    except PropertiesError:
        return "error"


BY_HAND = [
    "a=b\\", "\\", "\\\n", "\\\\", "\\\n\\", "\\\n\n#c", "\\\n  \n#c", "\\\n#c", "a\\\n\\\n=b",
    "a=b\\\r\n  c\\\r d\\\n", " \\\n a=b", "#c\\\na=b", "!c\r#d\ra", "a\\\n", "a\\ b\\=\\:c = d", "a\f=\fb\f",
    "a\x0bb=c", "a\u0085b=c\u2028d", "a=\\u0041\\u00\\\n42", "\\u003d=x", "a=\\u004", "a=\\U0041", "a=\\u00g1",
    "a=\\\\u12", "a=\\ud83d\\ude00", "=", ":", " = : x", "a = = b", "a\n=b", "a=1\nb=2\na=3", "a=\\x\\y\\0\\'\\\"",
    "a=b \\\n \\\n  c", "\\#a=b", "\\ a=b", "\\\ta", "cheeses=\\", "a\\", "a=\\u12\\", "\r\r\na=b", "a=#b\\\n!c",
]  # fmt: skip


@pytest.mark.parametrize("text", BY_HAND)
def test_a_file_by_hand_reads_as_in_java(java: Read, text: str) -> None:
    agree(text, java)


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["\\", "\n", "\r", "\r\n", " ", "\t", "\f", "=", ":", "#", "!", "a", "b", "\\\n", "\\\r\n"]
            ),
            st.sampled_from(
                ["\\u0041", "\\u003D", "\\u00", "\\ud83d\\ude00", "\\n", "\\t", "\\:", "é", "😀", "\u2028"]
            ),
            st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=3),
        ),
        max_size=25,
    ).map("".join)
)
def test_a_made_up_file_reads_as_in_java(java: Read, text: str) -> None:
    agree(text, java)
