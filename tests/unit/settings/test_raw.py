from connect.settings import comma_separated, prefixed


def test_keys_with_a_prefix_come_without_it() -> None:
    config = {"a.b": "1", "a.": "2", "a": "3", "b.a.b": "4"}
    assert prefixed(config, "a.") == {"b": "1", "": "2"}


def test_words_between_commas_have_no_blanks_and_are_not_empty() -> None:
    assert comma_separated(" a, b ,,c\t,") == ["a", "b", "c"]
    assert comma_separated("") == comma_separated(None) == []
