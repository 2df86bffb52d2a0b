"""Lines of JSON become documents of Elasticsearch, one that does not fit a dead letter, through the real command."""

from pathlib import Path

import pytest

from tests.servers.elasticsearch import ElasticsearchServer


@pytest.mark.quick
def test_json_becomes_documents_and_a_bad_one_a_dead_letter(
    standalone, topic: str, elasticsearch: ElasticsearchServer
) -> None:
    index = topic.lower()
    elasticsearch.request("PUT", f"/{index}", {"mappings": {"properties": {"n": {"type": "integer"}}}})
    folder: Path = standalone.folder
    lines = ['{"n":1,"name":"Ada"}\n', '{"n":"no number"}\n', '{"n": 2}\n']
    (folder / "in.txt").write_text("".join(lines))
    sink = {
        "name": f"{topic}-sink",
        "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
        "topics": topic,
        "connection.url": elasticsearch.url,
        "key.ignore": "true",
        "schema.ignore": "true",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    running = standalone.start(
        standalone.source(topic),
        standalone.properties("elasticsearch.properties", sink),
        standalone.sink(f"{topic}-dead", f"{topic}-dead-sink"),
    )
    dead = folder / "out.txt"
    running.until(lambda: dead.exists() and dead.read_text() == lines[1])
    assert running.stop() == 0
    found = elasticsearch.documents(index)
    assert found == {f"{topic}+0+0": {"n": 1, "name": "Ada"}, f"{topic}+0+2": {"n": 2}}
