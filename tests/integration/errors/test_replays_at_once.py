"""Who asks twice for the same replay, by pressing a button twice, gets each record once."""

import uuid
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Consumer, Producer, TopicPartition

from connect.herder.dead_letters import DeadLetters
from connect.herder.replay import Replayed, ReplayRequest, replay

LETTERS = 300


def test_two_replays_at_once_write_each_record_once(broker, new_topic):
    dead, into = new_topic(), new_topic()
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    producer = Producer(servers)
    for number in range(LETTERS):
        producer.produce(dead, str(number).encode())
    assert producer.flush(30) == 0
    name = f"orders-{uuid.uuid4().hex[:6]}"

    def replayed(_: int) -> Replayed:
        letters = DeadLetters(servers, {"name": name}, dead)
        try:
            return replay(letters, ReplayRequest(into=into))
        finally:
            letters.close()

    with ThreadPoolExecutor() as threads:
        outcomes = list(threads.map(replayed, range(2)))
    assert sorted(len(one.replayed) for one in outcomes) == [0, LETTERS]
    assert sorted(one.marked_before for one in outcomes) == [0, LETTERS]
    consumer = Consumer({**servers, "group.id": name, "auto.offset.reset": "earliest"})
    _, end = consumer.get_watermark_offsets(TopicPartition(into, 0), timeout=30)
    consumer.close()
    assert end == LETTERS
