"""Texts on a terminal: each letter takes the columns that a terminal gives it."""

from connect.cli._table import counted, fitted, padded, shortened, table, width


def test_wide_letters_take_two_columns_and_marks_none():
    assert [width(text) for text in ("abc", "äöü", "a\u0308", "日本", "ｱｲ", "한글", "a日")] == [3, 3, 1, 4, 2, 4, 3]


def test_columns_of_a_table_stand_below_each_other_whatever_the_letters():
    shown = table(["NAME", "STATE"], [["日本語", "A"], ["u\u0308ber", "B"], ["x", "C"]])
    assert shown.splitlines() == ["NAME    STATE", "日本語  A", "u\u0308ber    B", "x       C"]


def test_a_wide_letter_is_not_cut_in_half():
    assert [shortened("日本語", columns) for columns in (6, 5, 4, 3)] == ["日本語", "日本…", "日…", "日…"]
    assert shortened("abc", 2) == "a…"
    assert fitted("日本", 4) == "日…"
    assert padded("日", 4, left=False) == "  日"


def test_one_is_not_many():
    assert [counted(number, "task") for number in (0, 1, 1000)] == ["0 tasks", "1 task", "1,000 tasks"]
