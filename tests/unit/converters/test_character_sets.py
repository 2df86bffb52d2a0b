"""The character sets of StringConverter, by Java's names."""

import pytest

from connect import ConfigError
from connect.converters.single_values import StringConverter

NAMES = ["UTF8", "UTF-8", "utf_8", "ISO-8859-1", "ISO8859_1", "latin1", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF_16BE"]
NAMES += ["US-ASCII", "ASCII", "Cp1252", "windows-1252", "UTF-32", "Shift_JIS", "windows-31j", "GBK", "GB18030", "Big5"]
NAMES += ["EUC-JP", "KOI8-R", "IBM850", "x-windows-949", "x-MacRoman", "Cp037", "UnicodeBigUnmarked"]


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_java_are_known(name: str) -> None:
    found = {value.name: value.errors for value in StringConverter.settings.validate({"converter.encoding": name})}
    assert found["converter.encoding"] == []
    converter = StringConverter()
    converter.configure({"converter.encoding": name}, is_key=False)
    assert converter.to_connect_data("t", converter.from_connect_data("t", None, "abc")).value == "abc"


@pytest.mark.parametrize("name", ["UTF-9", "", "rot13", "base64", "undefined", "a\0b", "ä"])
def test_what_is_no_character_set_is_named_when_a_configuration_is_validated(name: str) -> None:
    found = {value.name: value.errors for value in StringConverter.settings.validate({"converter.encoding": name})}
    assert found["converter.encoding"] == [
        f'"{name}" is not a character set. Write one such as UTF-8, ISO-8859-1 or UTF-16.'
    ]
    with pytest.raises(ConfigError) as raised:
        StringConverter().configure({"converter.encoding": name}, is_key=False)
    assert raised.value.key == "converter.encoding"
