import re
import time

from hypothesis import example, given
from hypothesis import strategies as st

from connect.settings.resolver import Resolver
from connect.settings.variables import Variable, variables

#: As it stands in Kafka's ConfigTransformer.
KAFKAS = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")


@given(st.text(alphabet="${}:ab ", max_size=24))
@example("${a:b:c}${a:${b:c}:d}${:}${::}}")
@example("${a${b:c}")
@example("${a}:b}")
@example("${file:/a:b:c:d}")
def test_the_variables_are_those_of_kafkas_pattern(text: str) -> None:
    expected = [
        Variable(found.start(), found.end(), found[1], found[3] or "", found[4]) for found in KAFKAS.finditer(text)
    ]
    assert list(variables(text)) == expected


def test_every_text_of_eight_letters_of_syntax_is_read_as_kafka_reads_it() -> None:
    letters = "${}:a"
    for number in range(len(letters) ** 6):
        middle = "".join(letters[number // len(letters) ** place % len(letters)] for place in range(6))
        text = f"${{{middle}"
        expected = [(found.span(), found[1], found[3] or "", found[4]) for found in KAFKAS.finditer(text)]
        assert [((one.begin, one.end), *one[2:]) for one in variables(text)] == expected


def test_hostile_texts_take_time_that_grows_with_their_length() -> None:
    for hostile in ("${", "${:", "${a:", "${a:b:", "$", "{", "${a", "${a:b}", "${::}", "}"):
        text = hostile * 100_000
        began = time.thread_time()
        for _ in variables(text):
            pass
        Resolver({}).resolve({"key": text[:100_000]})
        assert time.thread_time() - began < 2, hostile
