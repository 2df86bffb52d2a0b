"""No call of librdkafka's that asks a broker may wait forever: a thread that waits in C cannot be told to stop."""

import ast
from collections.abc import Iterator
from pathlib import Path

import connect.kafka

#: Calls that ask a broker, and what bounds them.
ASKS = {
    "list_topics": {"timeout"},
    "committed": {"timeout"},
    "offsets_for_times": {"timeout"},
    "flush": {0, "timeout"},
    "poll": {0, "timeout"},
    # Without cached=True it may wait forever while another thread polls the consumer; see `topics.end_offsets`.
    "get_watermark_offsets": {"cached"},
    "init_transactions": {0, "timeout"},
    "commit_transaction": {0, "timeout"},
    "abort_transaction": {0, "timeout"},
    "describe_topics": {"request_timeout"},
    "create_topics": {"request_timeout"},
    "list_offsets": {"request_timeout"},
    "describe_configs": {"request_timeout"},
    "list_consumer_group_offsets": {"request_timeout"},
    "alter_consumer_group_offsets": {"request_timeout"},
    "delete_consumer_groups": {"request_timeout"},
    "describe_consumer_groups": {"request_timeout"},
}
CLIENTS = {"_consumer", "_producer", "_admin", "consumer", "producer", "admin"}
#: Bounded by itself: of `connect.kafka.admin.client.Admin`, and of no client of librdkafka's.
OURS = {("admin", "committed"), ("_admin", "committed")}


def unbounded(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in ASKS:
            continue
        owner = node.func.value
        name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        given = {keyword.arg for keyword in node.keywords} | set(range(len(node.args)))
        if name in CLIENTS and (name, node.func.attr) not in OURS and not given & ASKS[node.func.attr]:
            yield f"{file.name}:{node.lineno}: {name}.{node.func.attr}"


def test_every_call_that_asks_a_broker_has_an_end() -> None:
    folder = Path(connect.kafka.__file__).parent
    assert [place for file in sorted(folder.rglob("*.py")) for place in unbounded(file)] == []


def test_one_without_is_found(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(
        "def f(consumer, self):\n    consumer.list_topics('t')\n    self._consumer.get_watermark_offsets(p)\n"
    )
    assert len(list(unbounded(file))) == 2
