"""A session of a Spark Connect server: gRPC from here, everything else runs there."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from connect.errors import ConnectError, RetriableError
from spark_sink.error_translation import translate_error
from spark_sink.session.installation import SparkNotInstalled
from spark_sink.session.jvm import Stopped
from spark_sink.session.jvm_log import quieten_python
from spark_sink.session.masters import Master
from spark_sink.session.reach import await_answer

log = logging.getLogger(__name__)

_MODE = "SPARK_CONNECT_MODE_ENABLED"  # by this pyspark.sql.functions knows which functions are meant
_CLIENT = ("grpc", "grpc_status", "google.rpc", "pandas", "pyarrow", "zstandard")
_ENDS_WITHIN = 3.0  # seconds, of releasing a session


def begin(url: str, conf: Mapping[str, str], master: Master, deadline: float, stopping: Callable[[], bool]) -> Any:
    """The SparkSession. Raises as `open_session` does.

    Args:
        url: with its options, such as a token, which no message shows.
        conf: of the session; what a server's session cannot be given is left out.
        master: whose host and port are in messages.
        deadline: on the monotonic clock.
        stopping: whether to give up waiting.
    """
    _check_client()
    quieten_python()
    logging.getLogger("pyspark.sql.connect.logging").setLevel(logging.CRITICAL)
    where = f"The Spark Connect server {shown(master)}"
    await_answer(master.addresses, where, deadline, stopping)
    os.environ[_MODE] = "1"
    try:
        spark = _within(lambda: _made(url, conf), where, deadline, stopping)
        _check_version(spark, where)
    except BaseException:
        os.environ.pop(_MODE, None)
        raise
    from pyspark.sql.connect.session import SparkSession

    SparkSession._set_default_and_active_session(spark)  # the active one is of a thread: of ours
    return spark


def end(spark: Any) -> None:
    """Release the session, so that its server ends its queries; waits for at most three seconds."""
    thread = threading.Thread(target=_quietly(spark.stop), name="spark-release", daemon=True)
    thread.start()
    thread.join(_ENDS_WITHIN)
    from pyspark.sql.connect.session import SparkSession

    if SparkSession._default_session is spark:
        SparkSession._default_session = None
    if getattr(SparkSession._active_session, "session", None) is spark:
        SparkSession._active_session.session = None
    os.environ.pop(_MODE, None)


def shown(master: Master) -> str:
    """The address without its options."""
    host, port = master.addresses[0]
    return f"sc://{host}:{port}"


def patient_client(client: Any) -> Any:
    """The same client with retries for a quarter of a minute: PySpark's own take ten, and a task would hang."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=5_000)])
    return client


def _made(url: str, conf: Mapping[str, str]) -> Any:
    from pyspark.sql.connect.session import SparkSession

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        spark = SparkSession(connection=url)
        patient_client(spark.client)
        spark.conf._set_all(configs=dict(conf), silent=True)
    for each in said:
        log.debug("Spark Connect: %s", each.message)
    return spark


def _within(make: Callable[[], Any], where: str, deadline: float, stopping: Callable[[], bool]) -> Any:
    """Call a client that may wait for something that is no server; given up at the deadline or when the task stops."""
    results: list[Any] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(make())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="spark-connect", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.05)
        if stopping():
            raise Stopped(f"{where} was not waited for: the task is stopping.")
        if time.monotonic() > deadline:
            raise RetriableError(
                f"{where} takes connections and does not answer. See that it is a Spark Connect server."
            )
    if errors:
        cause = translate_error(errors[0])
        raise type(cause)(f"{where} refused a session: {cause}") from errors[0]
    return results[0]


def _check_client() -> None:
    missing = [each for each in _CLIENT if not _is_installed(each)]
    if missing:
        raise SparkNotInstalled(
            f"The client of Spark Connect needs {', '.join(missing)}, not installed in this worker's Python. "
            "Install it: pip install 'connect-runtime[spark]'"
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _check_version(spark: Any, where: str) -> None:
    """Functions travel pickled, and plans in a format that changes: both sides must have the same minor version."""
    import pyspark

    theirs = str(spark.version)
    if theirs.split(".")[:2] != pyspark.__version__.split(".")[:2]:
        end(spark)
        raise ConnectError(
            f"{where} runs Spark {theirs}, and this worker has PySpark {pyspark.__version__}. "
            "Both have to be of the same minor version: install the server's here, or start a server of this one."
        )


def _quietly(call: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except Exception:
            log.debug("the session was not released", exc_info=True)

    return run
