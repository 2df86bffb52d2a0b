"""The difference of two configurations, and that no secret is in it."""

import pytest

from connect.cli._diff import changes, with_stored
from connect.cli._secrets import shown


def lines(before, after, secret=()):
    return [str(change) for change in changes(before, after, secret)]


def test_keys_that_differ_are_shown_in_order():
    before = {"same": "1", "gone": "x", "changed": "old"}
    after = {"same": "1", "new": "y", "changed": "new"}
    assert lines(before, after) == ["~ changed=old -> new", "- gone=x", "+ new=y"]
    assert lines(before, before) == []


@pytest.mark.parametrize(
    "key", ["db.password", "AWS_SECRET_ID", "consumer.override.sasl.jaas.config", "api.key", "access_key", "auth.token"]
)
def test_what_looks_like_a_secret_is_not_shown(key):
    assert lines({}, {key: "hunter22"}) == [f"+ {key}=[hidden]"]
    assert lines({key: "hunter22"}, {}) == [f"- {key}=[hidden]"]
    assert lines({key: "hunter22"}, {key: "hunter33"}) == [f"~ {key}=[hidden] (changed)"]


def test_what_is_declared_as_a_secret_is_not_shown():
    assert lines({}, {"pin": "hunter22"}, {"pin"}) == ["+ pin=[hidden]"]


def test_a_password_in_an_address_is_not_shown():
    assert lines({}, {"url": "jdbc://me:hunter22@h/d"}) == ["+ url=jdbc://me:[hidden]@h/d"]


def test_variables_and_keys_that_only_sound_alike_are_shown():
    assert shown("db.password", "${file:/etc/orders:password}") == "${file:/etc/orders:password}"
    assert shown("key.converter", "x") == "x"
    assert shown("tokens.max", "3") == "3"


def test_what_the_cluster_does_not_show_may_be_the_same():
    (change,) = changes({"db.password": "[hidden]"}, {"db.password": "hunter22"})
    assert change.unsure
    assert "may be the same" in str(change)
    assert "hunter" not in repr(change)


def test_characters_that_a_terminal_obeys_are_not_printed():
    assert lines({}, {"a": "b\x1b[2J\nc"}) == ["+ a=b [2J c"]


def test_a_mask_is_sent_as_what_is_stored():
    before = {"db.password": "hunter22", "url": "x://me:hunter33@h", "pin": "1234"}
    after = {"db.password": "[hidden]", "url": "x://me:[hidden]@h", "pin": "[hidden]", "other": "1"}
    assert with_stored(after, before) == {**before, "other": "1"}


def test_a_cluster_that_hides_gets_its_masks_back():
    hidden = {"db.password": "[hidden]", "url": "x://me:[hidden]@h"}
    assert with_stored(hidden, hidden) == hidden


@pytest.mark.parametrize("before", [{}, {"url": "x://me:hunter33@other"}])
def test_a_mask_that_stands_for_nothing_is_refused(before):
    with pytest.raises(KeyError):
        with_stored({"url": "x://me:[hidden]@h"}, before)
