"""Errors of Spark, Delta, Kafka and their machines with known advice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from connect.errors import ConnectError, DataError, RetriableError


class SessionLost(RetriableError):
    """Spark, or its session, is gone: only a new session helps."""


@dataclass(frozen=True)
class Rule:
    """The advice for an error whose text matches.

    `say` may use {said}, the innermost cause, and the groups of `found`, which are empty when they did not match.
    """

    found: re.Pattern[str]
    say: str
    kind: type[ConnectError] = ConnectError


def _rule(found: str, say: str, kind: type[ConnectError] = ConnectError) -> Rule:
    return Rule(re.compile(found), say, kind)


#: The first that is found counts: what is special stands before what is general.
RULES: Final = (
    _rule(
        r"ConcurrentTransactionException|DELTA_CONCURRENT_TRANSACTION",
        "Another writer used this connector's transactions on the table at the same time ({said}). It is tried again; "
        "if "
        "it comes back, another cluster runs a connector of the same name on this table.",
        RetriableError,
    ),
    _rule(
        r"DELTA_CONCURRENT_|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED|"
        r"io\.delta\.exceptions\.(?:Concurrent|Metadata|Protocol)\w*Exception",
        "Another writer changed the table at the same time, and this write was not done: {said} It is tried again.",
        RetriableError,
    ),
    _rule(
        r"DELTA_(?:FAILED_TO_MERGE_FIELDS|MERGE_INCOMPATIBLE\w*|SCHEMA_CHANGE\w*|METADATA_MISMATCH)|"
        r"INCOMPATIBLE_DATA_FOR_TABLE",
        "The records do not fit the table's schema: {schemas} Change the table or the records, or let the table's "
        "schema "
        "evolve.",
    ),
    _rule(
        r"DELTA_(?:VIOLATE_CONSTRAINT\w{0,60}|NOT_NULL_CONSTRAINT_VIOLATED|EXCEED_CHAR_VARCHAR_LIMIT)\W++(?P<which>[^\n]{0,300}?)"
        r"(?: violated by row with values:)?\n",
        "A record breaks a rule of the table: {which}. Nothing of its batch was written. Drop or fix such records "
        "with a "
        "transformation, or change the rule.",
        DataError,
    ),
    _rule(
        r"(?:ConcurrentStreamLogUpdate|CONCURRENT_STREAM_LOG_UPDATE|Multiple streaming queries are concurrently)",
        "Another query writes to this query's checkpoint ({said}). Only one may: see that no other connector or "
        "cluster "
        "has the same checkpoint.location.",
    ),
    _rule(
        r"(?:Failed to read log file (?P<file>\S{1,1000}?)\.? |MALFORMED_LOG_FILE|MALFORMED_CHECKPOINT|"
        r"(?P<other>CHECKPOINT_FILE_\w+|CANNOT_LOAD_STATE_STORE\w*|STATE_STORE_\w{0,40}CHECKPOINT\w*))",
        "The query's checkpoint cannot be read ({file}{other}): {said} Bring the file back from a copy, or start a "
        "new checkpoint by "
        "altering the connector's offsets.",
    ),
    _rule(
        r"No FileSystem for scheme \"?(?P<scheme>\w+)|Class \S+\.(?P<class>\w*FileSystem) not found",
        "Spark has no file system for {scheme}{class}. Add its jar, for S3: "
        "spark.jars.packages=org.apache.hadoop:hadoop-aws:3.5.0",
        ConnectError,
    ),
    _rule(
        r"DATA_SOURCE_NOT_FOUND[^\n]{0,400}?(?:source|provider)\W++(?P<name>\w+)|"
        r"Failed to find the data source: (?P<other>\w+)",
        "This Spark does not know the format {name}{other}: its jar is missing. Add it by spark.jars or "
        "spark.jars.packages; a Spark Connect server has to be started with it.",
    ),
    _rule(
        r"Service '(?P<service>[\w.]+)' failed after \d+ retries \(\D*(?P<port>\d*)",
        "The port {port} of Spark's service {service} is taken by another program. Choose another one, or leave it to "
        "Spark by not setting its key (spark.driver.port, spark.blockManager.port, spark.ui.port).",
    ),
    _rule(
        r"No space left on device|ENOSPC|Disk quota exceeded",
        "A disk is full: {said} Make room on it.",
        RetriableError,
    ),
    _rule(
        r"DELTA_CANNOT_CREATE_LOG_PATH\W+Cannot create (?P<path>\S+)|Mkdirs failed to create (?P<made>\S+)|"
        r"AccessControlException|AccessDenied|(?:Permission|Access) denied|Read-only file system|"
        r"ParentNotDirectoryException|NotDirectoryException|FileAlreadyExistsException: Parent path",
        "Spark may not, or cannot, write there: {said} Check that the path is right, and that the user of its "
        "executors may "
        "write to it.",
    ),
    _rule(
        r"DELTA_(?:TABLE_NOT_FOUND|MISSING_DELTA_TABLE\w*|NOT_A_DELTA_TABLE|TABLE_ONLY_OPERATION|PATH_DOES_NOT_EXIST|"
        r"MISSING_TRANSACTION_LOG|CREATE_TABLE_WITH_NON_EMPTY_LOCATION|TRUNCATED_TRANSACTION_LOG)|"
        r"is not a Delta table",
        "That is not a Delta table, or not a whole one: {said} Check the path; a folder with other files needs "
        "another one, or "
        "CONVERT TO DELTA.",
    ),
    _rule(
        r"PATH_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND|FileNotFoundException|NoSuchTableException|SCHEMA_NOT_FOUND",
        "Spark does not find what it is to read or write: {said} Check the name or the path.",
    ),
    _rule(
        r"exceeding memory limits|OutOfMemoryError|exit(?:ed with)? code:? (?:52|143)\b|MemoryError",
        "Spark ran out of memory: {said} Raise spark.driver.memory where the master is local, spark.executor.memory "
        "elsewhere, or let a batch be smaller.",
    ),
    _rule(
        r"Python worker failed to connect back|PYTHON_WORKER_CONNECT\w*",
        "A Python process of Spark did not answer within the 10 s that Spark gives it: the machine has more to do than "
        "it can. Let fewer queries begin at once, or give it more cores.",
        RetriableError,
    ),
    _rule(
        r"Python worker exited unexpectedly|PYTHON_WORKER_\w+|java\.io\.IOException: Stream closed|Fatal Python error: "
        r"(?P<fault>[^\n]+)",
        "A Python process of Spark ended without a word {fault}(killed, out of memory, or a fault in a compiled "
        "package). See "
        "the memory of the machine that it ran on.",
        RetriableError,
    ),
    _rule(
        r"ExecutorLostFailure|executor \S+ (?:exited|lost)|Remote RPC client disassociated|MetadataFetchFailed|"
        r"FetchFailed|Slave lost|Worker lost|worker lost",
        "Spark lost an executor: {said} See the log of the executor or its machine.",
        RetriableError,
    ),
    _rule(
        r"Python in worker has different version|PYTHON_VERSION_MISMATCH",
        "Executors run another version of Python than this worker: {said} Install this worker's version there, or "
        "name the "
        "executors' Python by spark.pyspark.python.",
    ),
    _rule(
        r"(?:ModuleNotFoundError: No module named|ImportError: cannot import name) '(?P<module>[\w.]+)'",
        "An executor's Python does not have the module {module}. Our own code is sent to executors (spark.ship.code), "
        "compiled "
        "packages are not: install connect-runtime[spark] in their Python, or name one that has it by "
        "spark.pyspark.python.",
    ),
    _rule(
        r"KafkaError\{code=\w{0,40}(?:AUTHORIZATION|AUTHENTICATION)[^}]{0,600}str=\"(?P<text>[^\"]*)",
        "Kafka refused this user (AUTHENTICATION or authorization): {text}. Check the login and the rights of the "
        "connector.",
    ),
    _rule(
        r"KafkaError\{code=(?P<code>_TRANSPORT|_ALL_BROKERS_DOWN|_TIMED_OUT\w*+|_RESOLVE|LEADER_NOT_AVAILABLE|"
        r"NOT_LEADER_\w++|_WAIT_COORD|COORDINATOR_\w++|BROKER_NOT_AVAILABLE|"
        r"REQUEST_TIMED_OUT)[^}]{0,600}str=\"(?P<text>[^\"]*)",
        "Kafka does not answer from where Spark runs ({text}). See that the brokers run and that executors reach them "
        "under "
        "the names that they advertise.",
        RetriableError,
    ),
    _rule(r"KafkaError\{code=(?P<code>\w++)[^}]{0,600}str=\"(?P<text>[^\"]*)", "Kafka said {code}: {text}."),
    _rule(
        r"INVALID_HANDLE\.SESSION|SESSION_(?:NOT_FOUND|CLOSED|CHANGED)|NO_ACTIVE_SESSION",
        "The Spark Connect server does not know this session any more: it was restarted. A restart of the task opens "
        "a new one.",
        SessionLost,
    ),
    _rule(
        r"StatusCode\.UNAUTHENTICATED|UNAUTHENTICATED",
        "The Spark Connect server refused the login (AUTHENTICATION). Check the token in spark.remote.",
    ),
    _rule(
        r"StatusCode\.(?:UNAVAILABLE|DEADLINE_EXCEEDED)|failed to connect to all addresses|RETRIES_EXCEEDED",
        "The Spark Connect server does not answer: {said} See that it runs, and that this worker reaches it.",
        SessionLost,
    ),
    _rule(
        r"SparkContext (?:was|has been) (?:shut down|stopped)|LiveListenerBus is stopped|stopped SparkContext|"
        r"Py4JNetworkError|Answer from Java side is empty|while trying to connect to the Java server",
        "Spark ended while it was at work. A restart of the task starts it again; its log says why it ended.",
        SessionLost,
    ),
    _rule(
        r"java\.net\.(?:ConnectException|UnknownHostException|SocketTimeoutException|NoRouteToHostException|"
        r"SocketException)",
        "Spark does not reach a server that it needs: {said} See that it runs, and that executors may reach it.",
        RetriableError,
    ),
)
