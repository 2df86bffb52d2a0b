"""What an earlier configuration has left in the store can be removed, whatever it is: to reset is to remove all."""

import pytest

from connect.api import SourceConnector
from connect.plugins import PluginKind, PluginRef, Plugins
from connect.plugins.loading import load_class

SOURCES = [
    ref
    for ref in Plugins.discover([]).all(PluginKind.SOURCE)
    if not ref.name.startswith("org.apache.kafka.connect.tools.")
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda ref: ref.name.rpartition(".")[2])
def test_offsets_of_any_partition_may_be_removed(source: PluginRef) -> None:
    connector: SourceConnector = load_class(source.target, source.folder)()
    servers = {f"{side}.cluster.bootstrap.servers": "localhost:9092" for side in ("source", "target")}
    config = {"file": "in.txt", "topic.prefix": "shop", "source.cluster.alias": "A", **servers}
    for partition in ({"left": "over"}, {"server": "before"}, {"cluster": "Z", "partition": 0, "topic": "orders"}):
        connector.alter_offsets(config, {frozenset(partition.items()): None})
