"""Names of sink tasks in their groups."""

import re

import pytest

from connect.kafka.group.static_member import KEY, as_static_member, instance_id

POOL = {"config.storage.topic": "configs", "group.id": "pool", "bootstrap.servers": "here:1"}


def test_a_pools_workers_give_a_task_the_same_name_and_others_another():
    name = instance_id(POOL, "orders", 3)
    assert name == instance_id({**POOL, "rest.advertised.port": "8084"}, "orders", 3)
    others = [
        instance_id(POOL, "orders", 4),
        instance_id({**POOL, "group.id": "other"}, "orders", 3),
        instance_id(POOL, "order", 3),
        instance_id({"offset.storage.file.filename": "a"}, "orders", 3),
    ]
    assert len({name, *others}) == 5


def test_a_standalone_worker_gives_its_own_name_whenever_it_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    name = instance_id({"offset.storage.file.filename": "offsets"}, "orders", 0)
    assert name == instance_id({"offset.storage.file.filename": str(tmp_path / "offsets")}, "orders", 0)
    assert name != instance_id({"offset.storage.file.filename": "offsets2"}, "orders", 0)
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    assert name != instance_id({"offset.storage.file.filename": "offsets"}, "orders", 0)


@pytest.mark.parametrize("connector", ["orders", "Bestellungen für München", "x" * 300, "..", ""])
def test_a_name_is_one_that_java_takes_too(connector):
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", instance_id(POOL, connector, 12))


def test_names_that_differ_only_where_characters_are_replaced_or_cut_stay_apart():
    assert instance_id(POOL, "a b", 0) != instance_id(POOL, "a/b", 0)
    assert instance_id(POOL, "x" * 300, 0) != instance_id(POOL, "x" * 301, 0)


def test_a_name_of_the_users_stays_and_the_protocol_of_brokers_has_none():
    assert as_static_member({KEY: "mine"}, POOL, "orders", 0) == {KEY: "mine"}
    assert as_static_member({"group.protocol": "consumer"}, POOL, "orders", 0) == {"group.protocol": "consumer"}
    assert as_static_member({"group.protocol": "classic"}, POOL, "orders", 0)[KEY] == instance_id(POOL, "orders", 0)
