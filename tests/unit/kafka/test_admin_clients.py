"""Whose admin client is used where: that of librdkafka may end the process that asks (docs/reliability.md)."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: What runs in processes that may die: a task's, and a command's.
MAY = {
    "connect/kafka/broker/embedded.py",
    "connect/kafka/admin/new_topics.py",
    "connect/kafka/writing/refusals.py",
    "connect/kafka/admin/purge.py",
}


def test_only_what_may_die_asks_by_librdkafkas_admin_client() -> None:
    found = set()
    for package in ("connect", "connectors", "rest", "spark_sink", "transforms"):
        for file in (ROOT / package).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            names = {
                f"{node.module}.{alias.name}"
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            if "confluent_kafka.admin" in modules | names:
                found.add(str(file.relative_to(ROOT)))
    assert found == MAY
