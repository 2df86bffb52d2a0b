"""Topics of one Kafka cluster into another, with groups' offsets and heartbeats: MirrorMaker 2's three connectors."""

from connectors.mirror.checkpoint_connector import MirrorCheckpointConnector
from connectors.mirror.checkpoint_task import MirrorCheckpointTask
from connectors.mirror.heartbeat import MirrorHeartbeatConnector, MirrorHeartbeatTask
from connectors.mirror.source_connector import MirrorSourceConnector
from connectors.mirror.source_task import MirrorSourceTask

__all__ = [
    "MirrorCheckpointConnector",
    "MirrorCheckpointTask",
    "MirrorHeartbeatConnector",
    "MirrorHeartbeatTask",
    "MirrorSourceConnector",
    "MirrorSourceTask",
]
