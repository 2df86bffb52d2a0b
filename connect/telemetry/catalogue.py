"""Every metric of a worker: its name, its subject, and its meaning. docs/metrics.md is made from it.

`KAFKA` are those of Kafka Connect's worker, by their names in JMX; `OURS` are those that it does not have.

https://kafka.apache.org/documentation/#connect_monitoring
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from connect.telemetry.metrics import Kind

#: How the names of JMX become Prometheus's. "jmx": as Prometheus's JMX exporter does it where no rule says otherwise,
#: and Confluent's dashboards expect. "short": by the rules of that exporter's example for Kafka Connect, and Strimzi's.
Naming = Literal["jmx", "short"]


class KafkaMetric(NamedTuple):
    """One attribute of a JMX bean.

    Attributes:
        group: the bean's type.
        name: the attribute.
        kind: "text" is shown as the value of a label, at a series of value 1.
        doc: what it is.
    """

    group: str
    name: str
    kind: Literal["counter", "gauge", "text"]
    doc: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that identify its series."""
        return GROUPS[self.group]

    def prometheus(self, naming: Naming = "jmx") -> str:
        """Its name on the page for Prometheus."""
        return prometheus_name(self.group, self.name, naming)


class OwnMetric(NamedTuple):
    """A metric that Kafka Connect does not have."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    doc: str


#: The groups, and by what the series of each are told apart.
GROUPS: Final = {
    "app-info": ("client-id",),
    "connect-worker-metrics": (),
    "connect-worker-rebalance-metrics": (),
    "connect-coordinator-metrics": ("client-id",),
    "connector-metrics": ("connector",),
    "connector-task-metrics": ("connector", "task"),
    "connector-transform-metrics": ("connector", "task", "transform"),
    "connector-predicate-metrics": ("connector", "task", "predicate"),
    "source-task-metrics": ("connector", "task"),
    "sink-task-metrics": ("connector", "task"),
    "task-error-metrics": ("connector", "task"),
    # Of connect-worker-metrics, those with a tag.
    "connect-worker-metrics,connector": ("connector",),
}


def prometheus_name(group: str, name: str, naming: Naming = "jmx") -> str:
    """The name on the page for Prometheus of an attribute of a group."""
    group = group.partition(",")[0]
    if naming == "short":
        if (group, name) == ("connector-task-metrics", "status"):
            return "kafka_connect_connector_status"
        if (group, name) == ("connector-metrics", "status"):  # so that who counts those counts tasks alone
            return "kafka_connect_connector_metrics_status"
        group = group.removeprefix("connect-").removesuffix("-metrics")
    return f"kafka_connect_{group}_{name}".replace("-", "_")


def _group(name: str, **metrics: str) -> list[KafkaMetric]:
    return [_metric(name, attribute.replace("_", "-"), doc) for attribute, doc in metrics.items()]


def _metric(group: str, name: str, doc: str) -> KafkaMetric:
    if name.endswith(("-class", "-version", "-type", "status", "-protocol", "-name")) or name == "version":
        return KafkaMetric(group, name, "text", doc)
    # What counts errors has no _total in its name, and is no counter to Prometheus without it.
    return KafkaMetric(group, name, "counter" if name.endswith("-total") else "gauge", doc)


KAFKA: Final[tuple[KafkaMetric, ...]] = (
    *_group("app-info", version="The version.", start_time_ms="When the worker started, in ms since the epoch."),
    *_group(
        "connect-worker-metrics",
        connector_count="Connectors on this worker.",
        task_count="Tasks on this worker, the failed ones included.",
        connector_startup_attempts_total="Starts of connectors.",
        connector_startup_success_total="Starts of connectors that succeeded.",
        connector_startup_success_percentage="Share of the starts of connectors lately that succeeded, from 0 to 1.",
        connector_startup_failure_total="Starts of connectors that failed.",
        connector_startup_failure_percentage="Share of the starts of connectors lately that failed, from 0 to 1.",
        task_startup_attempts_total="Starts of tasks.",
        task_startup_success_total="Starts of tasks that succeeded: the task reported that it runs.",
        task_startup_success_percentage="Share of the starts of tasks lately that succeeded, from 0 to 1.",
        task_startup_failure_total="Starts of tasks that failed.",
        task_startup_failure_percentage="Share of the starts of tasks lately that failed, from 0 to 1.",
    ),
    *_group(
        "connect-worker-metrics,connector",
        connector_total_task_count="Tasks of the connector on this worker.",
        connector_running_task_count="Those that are RUNNING.",
        connector_paused_task_count="Those that are PAUSED.",
        connector_failed_task_count="Those that are FAILED.",
        connector_unassigned_task_count="Those that have not reported yet that they run.",
        connector_destroyed_task_count="Those whose connector was deleted.",
        connector_restarting_task_count="Those that are RESTARTING.",
    ),
    *_group(
        "connect-worker-rebalance-metrics",
        connect_protocol="What the group speaks: default, compatible or sessioned.",
        leader_name="The REST address of the group's leader.",
        epoch="The generation of the group.",
        completed_rebalances_total="Rebalances that this worker came through.",
        rebalancing="1 while the worker takes part in a rebalance.",
        rebalance_max_time_ms="The longest rebalance lately.",
        rebalance_avg_time_ms="The mean of the rebalances lately.",
        time_since_last_rebalance_ms="Since the last rebalance ended.",
    ),
    *_group(
        "connect-coordinator-metrics",
        assigned_connectors="Connectors that the group has given to this worker.",
        assigned_tasks="Tasks that the group has given to this worker.",
    ),
    *_group(
        "connector-metrics",
        status="How the connector is: running, paused, stopped, failed, unassigned, restarting.",
        connector_type="source or sink.",
        connector_class="The connector's class.",
        connector_version="Its version.",
    ),
    *_group(
        "connector-task-metrics",
        status="How the task is: running, paused, failed, unassigned, restarting, destroyed.",
        running_ratio="Share of its life that the task was running, from 0 to 1.",
        pause_ratio="Share of its life that the task was paused, from 0 to 1.",
        offset_commit_max_time_ms="The longest commit of offsets lately.",
        offset_commit_avg_time_ms="The mean of the commits of offsets lately.",
        batch_size_max="Records in the largest batch lately.",
        batch_size_avg="Records in a batch lately, the mean.",
        offset_commit_failure_percentage="Share of the commits of offsets lately that failed, from 0 to 1.",
        offset_commit_success_percentage="Share of the commits of offsets lately that succeeded, from 0 to 1.",
        connector_class="The connector's class.",
        connector_version="Its version.",
        connector_type="source or sink.",
        task_class="The task's class.",
        task_version="Its version.",
        key_converter_class="The class of the key converter.",
        value_converter_class="The class of the value converter.",
        key_converter_version="The version of the key converter.",
        value_converter_version="The version of the value converter.",
        header_converter_class="The class of the header converter.",
        header_converter_version="The version of the header converter.",
    ),
    *_group(
        "connector-transform-metrics",
        transform_class="The class of a transformation.",
        transform_version="Its version.",
    ),
    *_group(
        "connector-predicate-metrics", predicate_class="The class of a predicate.", predicate_version="Its version."
    ),
    *_group(
        "source-task-metrics",
        source_record_poll_rate="Records a second that the task polled lately, before transformations.",
        source_record_poll_total="Records that the task polled, before transformations.",
        source_record_write_rate="Records a second that the broker acknowledged lately.",
        source_record_write_total="Records that the broker acknowledged.",
        poll_batch_max_time_ms="The longest poll lately, of those that brought records.",
        poll_batch_avg_time_ms="The mean of the polls lately, of those that brought records.",
        source_record_active_count="Records that were sent and are not acknowledged yet.",
        source_record_active_count_max="The most of them lately.",
        source_record_active_count_avg="The mean of them lately, looked at after each batch.",
        transaction_size_min="Records in the smallest transaction lately. Only with exactly-once delivery.",
        transaction_size_max="Records in the largest transaction lately. Only with exactly-once delivery.",
        transaction_size_avg="Records in a transaction lately, the mean. Only with exactly-once delivery.",
    ),
    *_group(
        "sink-task-metrics",
        sink_record_read_rate="Records a second that were consumed lately, before transformations.",
        sink_record_read_total="Records that were consumed, before transformations.",
        sink_record_send_rate="Records a second that the task took lately, after transformations.",
        sink_record_send_total="Records that the task took, after transformations.",
        sink_record_lag_max="How many offsets the task's commits are behind what it was given, in its worst partition.",
        partition_count="Partitions that the task has.",
        offset_commit_seq_no="The number of the last commit of offsets.",
        offset_commit_completion_rate="Commits of offsets a second that succeeded lately.",
        offset_commit_completion_total="Commits of offsets that succeeded.",
        offset_commit_skip_rate="Commits a second that were left out lately.",
        offset_commit_skip_total="Commits that were left out because they came too late: the lease had run out.",
        put_batch_max_time_ms="The longest put lately, without empty ones.",
        put_batch_avg_time_ms="The mean of the puts lately, without empty ones.",
        sink_record_active_count="Offsets that the task was given and has not committed yet.",
        sink_record_active_count_max="The most of them lately.",
        sink_record_active_count_avg="The mean of them lately, looked at before each commit.",
    ),
    *_group(
        "task-error-metrics",
        total_record_failures="Failures of an operation on a record, each try counted.",
        total_record_errors="Records that were given up: skipped, or the end of the task.",
        total_records_skipped="Records that were skipped.",
        total_retries="Operations that were tried again.",
        total_errors_logged="Errors that were logged by errors.log.enable.",
        deadletterqueue_produce_requests="Records sent to the dead letter topic.",
        deadletterqueue_produce_failures="Records that the dead letter topic refused.",
        last_error_timestamp="When the last error was, in ms since the epoch; 0 for never.",
    ),
)

_TASK = ("connector", "task")
_PLACE = ("connector", "topic", "partition")

OURS: Final[tuple[OwnMetric, ...]] = (
    # Tasks of both kinds.
    OwnMetric("connect_task_state", "gauge", (*_TASK, "state"), "1 for the state that the task is in."),
    OwnMetric(
        "connect_task_stalled", "gauge", _TASK, "1 for a task that is RUNNING and moves nothing although there is work."
    ),
    OwnMetric(
        "connect_task_restarts_total",
        "counter",
        (*_TASK, "reason"),
        "Starts after the first on this worker. Reason: failure (it had FAILED), configuration (it is another one now),"
        " or request (restarted, resumed or given back as it was).",
    ),
    OwnMetric("connect_task_batch_records", "histogram", _TASK, "Records in a batch, before transformations."),
    OwnMetric(
        "connect_task_step_seconds",
        "histogram",
        (*_TASK, "stage", "step"),
        "Seconds that a batch took in one converter or transformation. What is converted only when somebody looks is"
        " not in it.",
    ),
    OwnMetric("connect_task_commit_seconds", "histogram", _TASK, "Seconds that a commit of offsets took."),
    OwnMetric(
        "connect_task_commits_total",
        "counter",
        (*_TASK, "outcome"),
        "Commits of offsets. Outcome: success, failure, or skipped (the lease had run out).",
    ),
    OwnMetric(
        "connect_task_parked_records_total",
        "counter",
        _TASK,
        "Records that a sink wrote to a retry topic, to be tried again later or to wait behind others of their key.",
    ),
    OwnMetric(
        "connect_task_active_records",
        "histogram",
        _TASK,
        "Records on their way, looked at after each batch of a source and before each commit of a sink.",
    ),
    OwnMetric(
        "connect_task_queue_bytes",
        "gauge",
        _TASK,
        "Bytes that a source has sent and that are not acknowledged, with what the client takes for each record.",
    ),
    OwnMetric(
        "connect_task_cpu_seconds_total",
        "counter",
        _TASK,
        "CPU time of the task's process, and of its children that ended.",
    ),
    OwnMetric(
        "connect_task_pss_bytes",
        "gauge",
        _TASK,
        "Memory of the task's process; what it shares with others is divided among them.",
    ),
    # Sources.
    OwnMetric("connect_source_poll_seconds", "histogram", _TASK, "Seconds of a poll that brought records."),
    OwnMetric(
        "connect_source_ack_seconds",
        "histogram",
        _TASK,
        "Seconds from sending a batch until the task saw that the broker has acknowledged all of it.",
    ),
    OwnMetric(
        "connect_source_age_seconds",
        "histogram",
        _TASK,
        "Age of the first record of each batch, by its timestamp, when the batch was acknowledged. Only of records"
        " that have one.",
    ),
    OwnMetric("connect_source_age_max_seconds", "gauge", _TASK, "The highest of these ages lately."),
    OwnMetric("connect_source_bytes_total", "counter", _TASK, "Bytes of keys and values sent."),
    OwnMetric("connect_source_transaction_records", "histogram", _TASK, "Records in a transaction."),
    # Sinks.
    OwnMetric("connect_sink_put_seconds", "histogram", _TASK, "Seconds of a put with records."),
    OwnMetric("connect_sink_pre_commit_seconds", "histogram", _TASK, "Seconds of a pre-commit: the target's flush."),
    OwnMetric(
        "connect_sink_age_seconds",
        "histogram",
        _TASK,
        "Age of the first record of each batch, by its timestamp, when the task had taken the batch.",
    ),
    OwnMetric("connect_sink_age_max_seconds", "gauge", _TASK, "The highest of these ages lately."),
    OwnMetric(
        "connect_sink_bytes_total",
        "counter",
        _TASK,
        "Bytes of values consumed; of batches above 500 records about, by looking at some.",
    ),
    # Lag of sinks, as the worker of the connector sees it.
    OwnMetric(
        "connect_sink_lag_records", "gauge", _PLACE, "Offsets between what is committed and the partition's end."
    ),
    OwnMetric("connect_sink_lag_status", "gauge", _PLACE, "0 OK, 1 WARN (falling behind), 2 STALLED."),
    OwnMetric("connect_sink_lag_total_records", "gauge", ("connector",), "The lag of all partitions of a sink."),
    OwnMetric("connect_sink_lag_worst_status", "gauge", ("connector",), "The worst status of its partitions."),
    # The worker.
    OwnMetric(
        "connect_worker_info",
        "gauge",
        ("worker_id", "version"),
        "1. What stands under metrics.context.* is here too, as labels.",
    ),
    OwnMetric("connect_worker_tasks", "gauge", ("state",), "Tasks on this worker in this state."),
    OwnMetric("connect_rebalances_total", "counter", ("cause",), "Rebalances that ended, by what began them."),
    OwnMetric("connect_rebalance_seconds", "histogram", ("cause",), "Seconds of a rebalance."),
    OwnMetric(
        "connect_rest_request_seconds",
        "histogram",
        ("method", "route", "status"),
        "Seconds of a REST request, until the answer was on its way.",
    ),
)

#: What a name on the page means.
DOCS: Final = {
    **{metric.prometheus(naming): metric.doc for metric in KAFKA for naming in ("jmx", "short")},
    **{metric.name: metric.doc for metric in OURS},
}

#: What tasks tell their worker for `KAFKA` begins like this, and is shown under Kafka's name only.
FOR_KAFKA: Final = "jmx_"
#: A figure that Kafka Connect's own worker made, in a task of a Java connector; labels `group` and `figure` name it.
BY_JAVA: Final = f"{FOR_KAFKA}figure"
