"""Documents of a real Elasticsearch through a real worker and a real topic into a file."""

from typing import Any


def test_documents_flow_into_a_topic_and_a_file(standalone: Any, topic: str, elasticsearch: Any) -> None:
    index = f"docs-{topic}"
    documents = [f'{{"n": {number}, "text": "ä{number}"}}' for number in range(2000)]
    keys = {
        "name": f"{topic}-documents",
        "connector.class": "ElasticsearchSource",
        "connection.url": elasticsearch.url,
        "index.names": index,
        "topic.name": topic,
        "value.format": "json",
        "poll.interval.ms": "100",
        "read.timeout.ms": "20000",
    }

    def write(first: int, last: int) -> None:
        lines = "".join(f'{{"index": {{}}}}\n{each}\n' for each in documents[first:last])
        elasticsearch.request("POST", f"/{index}/_bulk", lines.encode())

    elasticsearch.request("PUT", f"/{index}", {"settings": {"number_of_shards": 1, "number_of_replicas": 0}})
    try:
        write(0, 1500)
        out = standalone.folder / "out.txt"
        files = standalone.properties("documents.properties", keys), standalone.sink(topic, f"{topic}-sink")
        running = standalone.start(*files)
        running.until(lambda: out.exists() and out.read_bytes().count(b"\n") == 1500)
        write(1500, 2000)
        running.until(lambda: out.read_bytes().count(b"\n") == 2000)
        assert out.read_text(encoding="utf-8").splitlines() == documents
        assert running.stop() == 0
    finally:
        elasticsearch.drop(index)
