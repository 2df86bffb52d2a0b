"""What a consumer sees that reads committed records only."""

import threading
import uuid

from confluent_kafka import Consumer, TopicPartition


class Committed:
    """The values of a topic's only partition that are committed, in order, as they come."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.values: list[str] = []
        settings = {"group.id": f"g-{uuid.uuid4()}", "isolation.level": "read_committed"}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ending.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.values.append(message.value().decode())

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        self._consumer.close()
