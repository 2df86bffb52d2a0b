"""Texts of Spark become lines, also where no JVM can be asked any more. Real ones: integration/spark/test_causes_*."""

import pytest

from connect.errors import ConnectError, DataError, FencedError, RetriableError
from spark_sink.error_translation import translate_error

TRACEBACK = """Lost task 0.0: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/app/read.py", line 12, in read
    raise problem
{raised}
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:665)
Caused by: java.io.EOFException
"""


def test_an_error_of_ours_comes_back_as_it_is() -> None:
    ours = FencedError("another writer")
    wrapped = RuntimeError("outside")
    wrapped.__cause__ = ours

    assert translate_error(ours) is ours
    assert translate_error(wrapped) is ours


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        ("connect.errors.DataError: not JSON.", DataError, "not JSON."),
        ("connect.kafka.writing.refusals.DeliveryError: the broker refused it", ConnectError, "the broker refused it"),
        ("connectors.jdbc.TableError: no such table.", ConnectError, "no such table."),
        ("KeyError: 'id'", ConnectError, "Spark failed: KeyError: 'id' (/app/read.py:12)"),
        (
            "shop.orders.Missing: no order",
            ConnectError,
            "Spark failed: shop.orders.Missing: no order (/app/read.py:12)",
        ),
    ],
)
def test_the_last_line_of_a_traceback_counts(raised: str, kind: type[ConnectError], message: str) -> None:
    found = translate_error(RuntimeError(TRACEBACK.format(raised=raised)))

    assert type(found) is kind
    assert str(found) == message


def test_the_outer_error_of_two_of_ours_counts() -> None:
    both = (
        "connect.errors.DataError: inner.\n\nThe above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "x", line 1, in f\nconnect.errors.RetriableError: outer.'
    )

    assert str(translate_error(RuntimeError(TRACEBACK.format(raised=both)))) == "outer."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ExecutorLostFailure (executor 1 exited caused by one of the running tasks)", "lost an executor"),
        ("org.apache.spark.SparkException: Python worker failed to connect back.", "did not answer within the 10 s"),
        ("Caused by: java.io.IOException: Stream closed", "A Python process of Spark ended"),
        ("Py4JNetworkError: Answer from Java side is empty", "Spark ended while it was at work"),
        ("java.net.UnknownHostException: db1", "does not reach a server"),
        ("java.io.IOException: No space left on device", "A disk is full"),
        ("[INVALID_HANDLE.SESSION_NOT_FOUND] The handle is invalid.", "does not know this session"),
    ],
)
def test_what_may_pass(text: str, says: str) -> None:
    found = translate_error(RuntimeError(text))

    assert says in str(found)
    assert isinstance(found, RetriableError)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ExecutorLostFailure: Container killed by YARN for exceeding memory limits. 1.5 GB", "ran out of memory"),
        ("java.lang.OutOfMemoryError: Java heap space", "ran out of memory"),
        ("Python in worker has different version (3.9) than that in driver 3.11", "another version of Python"),
        ("StatusCode.UNAUTHENTICATED Invalid authentication token", "refused the login"),
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: iceberg. Make sure", "format iceberg"),
        ("org.apache.spark.SparkException: strange", "Spark failed: "),
    ],
)
def test_what_does_not_pass_by_itself(text: str, says: str) -> None:
    assert says in str(translate_error(RuntimeError(text)))
    assert not isinstance(translate_error(RuntimeError(text)), RetriableError)


def test_a_socket_of_a_jvm_that_is_gone() -> None:
    assert "Spark's JVM does not answer" in str(translate_error(ConnectionRefusedError(111, "Connection refused")))


def test_a_message_is_one_line_and_its_cause_the_whole_text() -> None:
    text = "[SOME_CONDITION] It went\nwrong. SQLSTATE: 42000\n\tat org.apache.Spark.run\n" + "x" * 100_000
    found = translate_error(RuntimeError(text))

    assert "\n" not in str(found)
    assert len(str(found)) < 1000
    assert "org.apache.Spark.run" in str(found.__cause__)
    assert len(str(found.__cause__)) < 50_000


def test_an_error_that_cannot_be_printed_any_more() -> None:
    class Gone(Exception):
        errmsg = "An error occurred while calling o1.start."

        def __str__(self) -> str:
            raise ConnectionRefusedError

    assert "while calling o1.start" in str(translate_error(Gone()))
