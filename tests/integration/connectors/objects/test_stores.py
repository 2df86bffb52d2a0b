"""The sink writes to Azure's blobs and Google's objects as it does to S3's: nothing is lost, and nothing twice."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect import ConnectError, RetriableError, Schema, schema
from connect.ports import free_port
from connect.testing import SinkRun
from connectors.gcs.task import GcsSinkTask
from tests.integration.connectors.objects.runs import PLACE, await_committed, numbers, of, rows, sink_run
from tests.integration.connectors.s3.between import Between
from tests.integration.connectors.s3.sink_runs import put_for_long, until_taken
from tests.servers.google_storage import UNIT, GoogleBucket, GoogleStorage
from tests.servers.object_stores import ACCOUNT_KEY, AzureContainer, Azurite, Objects, ObjectStore
from tests.support.waiting import until

pytestmark = pytest.mark.slow

MIB = 1 << 20


def large(chance: random.Random, count: int, start: int = 0) -> list[dict[str, object]]:
    """Records of 64 KiB that nothing compresses."""
    return [{"n": n, "text": chance.randbytes(32 * 1024).hex()} for n in range(start, start + count)]


def described(bucket: Objects, key: str) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in bucket.described(key)[1].items()}


def test_an_object_says_which_records_it_holds(bucket: Objects) -> None:
    with sink_run(bucket, {"flush.size": "3"}) as run:
        run.put(*rows(7))
        await_committed(run, 6)
    keys = [f"topics/test/partition=0/test+0+000000000{n}.json" for n in (0, 3)]
    assert bucket.keys() == keys
    assert [json.loads(line) for line in bucket.get(keys[1]).splitlines()] == rows(3, 3)
    assert bucket.described(keys[0])[0] == "application/x-ndjson"
    said = described(bucket, keys[1])
    told = [said[f"connect-{name}"] for name in ("first-offset", "last-offset", "records")]
    assert told == ["3", "5", "3"]


@pytest.mark.promise("P1", "P7")
def test_a_large_object_is_sent_in_parts_that_nobody_sees(bucket: Objects, seed: int) -> None:
    records = large(random.Random(seed), 300)  # 19 MiB
    parts = {"flush.size": "300", bucket.part_size: str(5 * MIB)}
    with Between(bucket.server.port) as between, sink_run(bucket, {**parts, **bucket.at(between.port)}) as run:
        run.put(*records[:200])
        until(lambda: between.count("PUT", "") >= 2)
        assert bucket.keys() == []
        run.put(*records[200:])
        await_committed(run, 300)
    (key,) = bucket.keys()
    assert [json.loads(line) for line in bucket.get(key).splitlines()] == records


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("size", ["small", "large"])
def test_the_same_records_make_the_same_objects_again(bucket: Objects, seed: int, size: str) -> None:
    records = large(random.Random(seed), 200) if size == "large" else rows(200)
    run = sink_run(bucket, {"flush.size": "100", bucket.part_size: str(5 * MIB)})
    with run:
        run.broker_takes_commits = False
        run.put(*records)
        until_there(run, bucket, 2)
        run.crash()
        run.broker_takes_commits = True
        run.restart()
        run.deliver()
        await_committed(run, 200)
    assert len(bucket.keys()) == 2
    assert numbers(bucket) == list(range(200))


def until_there(run: SinkRun, bucket: Objects, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(bucket.keys()) < count:
        assert time.monotonic() < deadline, bucket.keys()
        run.put_nothing()
        time.sleep(0.01)


@pytest.mark.promise("P1", "P10")
def test_a_file_that_ended_elsewhere_is_continued(bucket: Objects) -> None:
    """Files end by commits, which no record decides: what another task wrote is left out."""
    run = sink_run(bucket)
    with run:
        run.broker_takes_commits = False
        run.put(*rows(5))
        run.commit()
        until_there(run, bucket, 1)
        run.crash()
        run.broker_takes_commits = True
        run.restart()
        run.put(*rows(5, 5))
        await_committed(run, 10)
    assert numbers(bucket) == list(range(10))


@pytest.mark.promise("P3", "P10")
def test_a_task_that_lost_its_partition_replaces_nothing(bucket: Objects) -> None:
    zombie, successor = (sink_run(bucket, {"flush.size": size}).start() for size in ("4", "3"))
    zombie.put(*rows(3))
    successor.put(*rows(3))
    await_committed(successor, 3)
    zombie.put(*rows(2, 3))  # its file of four begins where that of three does
    await_committed(zombie, 3)
    zombie.crash()
    successor.put(*rows(3, 3))
    await_committed(successor, 6)
    successor.stop()
    assert numbers(bucket) == list(range(6))


def test_an_object_of_somebody_else_is_left_alone(bucket: Objects) -> None:
    key = "topics/test/partition=0/test+0+0000000000.json"
    bucket.put(key, b"mine")
    with sink_run(bucket, {"flush.size": "1"}) as run, pytest.raises(ConnectError, match="does not say which records"):
        put_for_long(run)
    assert bucket.get(key) == b"mine"
    with sink_run(bucket, {"flush.size": "1", "enable.conditional.writes": "false"}) as run:
        run.put({"n": 7})
        await_committed(run, 1)
    assert numbers(bucket) == [7]


@pytest.mark.promise("P1")
@pytest.mark.parametrize("bucket", ["azurite", "google"], indirect=True)
@pytest.mark.parametrize("size", ["small", "large"])
def test_answers_that_are_cut_off_repeat_nothing(bucket: Objects, seed: int, size: str) -> None:
    """The store has written, and nobody was told. (fake-gcs-server miscounts what it is asked about.)"""
    records = large(random.Random(seed), 200) if size == "large" else rows(200)
    with Between(bucket.server.port) as between:
        parts = {"flush.size": "100" if size == "small" else "200", bucket.part_size: str(5 * MIB)}
        with sink_run(bucket, {**parts, "max.retries": "50", **bucket.at(between.port)}) as run:
            for start in range(0, 200, 20):
                run.put(*records[start : start + 20], tries=100)
                if start in (80, 120, 160):
                    # The object of large ones is begun by now: it is the answer to a part that is cut.
                    until(lambda: size == "small" or between.count("PUT", ""))
                    between.cut_after.append(1)
            await_committed(run, 200)
            assert run.retries
    if isinstance(bucket, GoogleBucket):
        assert bucket.server.repeated == 0
    assert len(bucket.keys()) == (2 if size == "small" else 1)
    assert [json.loads(line) for key in bucket.keys() for line in bucket.get(key).splitlines()] == records  # noqa: SIM118


@pytest.fixture
def own_server(store: ObjectStore) -> Iterator[ObjectStore]:
    """A server of the same kind that the test may end."""
    server = type(store)()
    yield server
    server.close()


@pytest.mark.promise("P1", "P7")
def test_a_store_that_goes_away_comes_back_and_misses_nothing(own_server: ObjectStore) -> None:
    bucket = own_server.bucket()
    with sink_run(bucket, {"flush.size": "10", "max.retries": "1000", "retry.backoff.ms": "20"}) as run:
        run.put(*rows(10))
        await_committed(run, 10)
        own_server.stop()
        end = 10
        while not run.retries:
            run.put({"n": end}, tries=1)
            end += 1
        assert run.committed == {PLACE: 10}
        own_server.start()
        until_taken(run)
        run.put(*rows(100 - end, end))
        await_committed(run, 100)
    assert numbers(bucket) == list(range(100))


def refused(bucket: Objects, config: dict[str, str]) -> str:
    """What the task says when it fails for good; nothing was committed."""
    with sink_run(bucket, {"flush.size": "1", **config}) as run:
        with pytest.raises(ConnectError) as caught:
            put_for_long(run)
        assert not isinstance(caught.value, RetriableError)
    assert not any(run.committed.values())
    return str(caught.value)


def test_a_missing_bucket_is_named(bucket: Objects) -> None:
    key = next(iter(bucket.config))
    said = refused(bucket, {key: "not-there"})
    assert "not-there" in said
    assert f"check {key}." in said


def test_a_store_that_cannot_be_reached_is_named(bucket: Objects) -> None:
    port = free_port()
    said = refused(bucket, {**bucket.at(port), "max.retries": "2"})
    assert "cannot be reached" in said
    assert "Given up after 2 retr" in said
    assert str(port) in said


@pytest.mark.promise("P9")
def test_a_wrong_key_of_azure_is_named_and_not_shown(azurite: Azurite) -> None:
    wrong = "d3Jvbmctb25lLW9mLXRlc3Rlcg=="
    said = refused(azurite.bucket(), {"azblob.account.key": wrong})
    assert "Check azblob.account.name and its key" in said
    assert wrong not in said


def test_a_connection_string_leads_to_the_container(azurite: Azurite) -> None:
    bucket = azurite.bucket()
    text = f"BlobEndpoint={azurite.address()};AccountName=tester;AccountKey={ACCOUNT_KEY}"
    of_account = dict.fromkeys(("azblob.account.name", "azblob.account.key", "azblob.endpoint"), "")
    with sink_run(bucket, {**of_account, "azblob.connection.string": text, "flush.size": "1"}) as run:
        run.put({"n": 1})
        await_committed(run, 1)
    assert numbers(bucket) == [1]


def test_a_signature_leads_to_the_container(azurite: Azurite) -> None:
    from datetime import UTC, datetime, timedelta

    from azure.storage.blob import ContainerSasPermissions, generate_container_sas

    bucket = azurite.bucket()
    name = bucket.config["azblob.container.name"]
    may = ContainerSasPermissions(read=True, write=True, create=True)
    expiry = datetime.now(UTC) + timedelta(hours=1)
    token = generate_container_sas("tester", name, ACCOUNT_KEY, permission=may, expiry=expiry)
    with sink_run(bucket, {"azblob.account.key": "", "azblob.sas.token": token, "flush.size": "1"}) as run:
        run.put({"n": 1})
        await_committed(run, 1)
    assert numbers(bucket) == [1]


@pytest.mark.parametrize("form", ["avro", "parquet"])
def test_files_with_schemas(bucket: Objects, form: str) -> None:
    with sink_run(bucket, {"flush.size": "2", "format.class": form}) as run:
        run.put({"n": 1}, {"n": 2}, schema=Schema.struct({"n": schema.INT64}))
        await_committed(run, 2)
    (key,) = bucket.keys()
    assert key.endswith(f".{form}") or form == "parquet"
    assert bucket.get(key)[:3] == (b"Obj" if form == "avro" else b"PAR")


def test_keys_that_contradict_each_other(bucket: Objects) -> None:
    both = (
        {"azblob.sas.token": "sv=1"}
        if isinstance(bucket, AzureContainer)
        else {"gcs.credentials.json": "{}", "gcs.credentials.path": "/a"}
    )
    config = {"name": "n", "topics": "t", **bucket.config, **both}
    errors = {value.name: value.errors for value in of(bucket)().validate(config) if value.errors}
    (said,) = errors.values()
    assert "contradicts" in said[0]


@pytest.mark.promise("P1", "P7")
def test_a_chunk_that_google_takes_in_part_is_completed(google: GoogleStorage, seed: int) -> None:
    bucket = google.bucket()
    records = large(random.Random(seed), 300)
    google.take += [UNIT * 3, UNIT, 0, UNIT * 8]
    google.refuse += [503, 429]
    with sink_run(bucket, {"flush.size": "300", bucket.part_size: str(5 * MIB), "max.retries": "50"}) as run:
        run.put(*records, tries=100)
        await_committed(run, 300)
        assert run.retries
    (key,) = bucket.keys()
    assert [json.loads(line) for line in bucket.get(key).splitlines()] == records
    assert google.take == google.refuse == []


@pytest.mark.promise("P9")
def test_google_refuses_an_account_that_was_revoked(google: GoogleStorage) -> None:
    google.revoked = True
    said = refused(google.bucket(), {})
    assert "the credentials are refused (RefreshError). Check gcs.credentials.path" in said
    assert "PRIVATE KEY" not in said


def test_google_finds_no_credentials(google: GoogleStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "not-there"))
    said = refused(google.bucket(), {"gcs.credentials.json": ""})
    assert "no credentials were found. Set gcs.credentials.path" in said


def test_an_account_in_a_file(google: GoogleStorage, tmp_path: Path) -> None:
    file = tmp_path / "account.json"
    file.write_text(google.account())
    bucket = google.bucket()
    with sink_run(bucket, {"gcs.credentials.json": "", "gcs.credentials.path": str(file), "flush.size": "1"}) as run:
        run.put({"n": 1})
        await_committed(run, 1)
    assert numbers(bucket) == [1]


def test_an_unfinished_upload_is_given_up_at_google(google: GoogleStorage) -> None:
    bucket = google.bucket()
    store = GcsSinkTask().store(GcsSinkTask.plan(bucket.config), bucket.config)
    upload = store.upload("a", "text/plain", 0, "", topic="test", conditional=True)
    upload.part(b"a" * (5 * MIB))
    assert [len(each.content) for each in google.uploads.values()] == [5 * MIB]
    upload.abort()
    assert google.uploads == {}
    upload.part(b"b" * (5 * MIB))
    upload.part(b"c")
    upload.complete(7, 8)
    store.close()
    assert bucket.get("a") == b"b" * (5 * MIB) + b"c"
    assert store.last_offset("a", "test") is None
