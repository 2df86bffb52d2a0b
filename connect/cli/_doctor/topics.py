"""The worker's three topics: whether they are what a worker needs, or could be created."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connect.cli._doctor.brokers import Reached
from connect.cli._doctor.finding import Finding, Level, error, note, of_message, ok, warning
from connect.cli._doctor.subject import Subject
from connect.cli._exit import INVALID, UNREACHABLE
from connect.cli._table import counted
from connect.herder.offset_stores import topic_shape
from connect.kafka.admin.answers import AdminError
from connect.kafka.admin.inspection import Replicas, TopicLayout
from connect.kafka.admin.topics import TopicShape, cannot_be_made, wrong_partitions, wrong_policy

_PREFIXES: Final = ("config.storage.", "offset.storage.", "status.storage.")
_NEEDED: Final = ("READ", "WRITE", "DESCRIBE")
_MIN_ISR: Final = "min.insync.replicas"


def check(subject: Subject, reached: Reached) -> Iterator[Finding]:
    """Each topic: it exists, or can be created; its partitions, policy, replicas, and the worker's rights."""
    assert subject.worker is not None
    config = subject.worker.config
    for prefix in _PREFIXES:
        topic = config[f"{prefix}topic"]
        if not topic or config[f"{prefix}replication.factor"] is None:
            continue  # which is said of the file
        exact = 1 if prefix == "config.storage." else None
        shape = topic_shape(subject.raw, config, prefix, exact, exact)
        what = f"{subject.where(f'{prefix}topic')}: topic {topic}"
        try:
            layout = reached.admin.layout(topic)
        except AdminError as problem:
            said = f"it cannot be looked at: {problem.words} ({problem.code})."
            yield error(what, said, "Grant DESCRIBE on it to the worker's user.", UNREACHABLE)
            continue
        if layout is None:
            yield _to_be_made(subject, reached, what, topic, prefix, shape)
        else:
            yield from _existing(reached, what, topic, shape, layout)


def _to_be_made(subject: Subject, reached: Reached, what: str, topic: str, prefix: str, shape: TopicShape) -> Finding:
    try:
        settings = {**shape.settings, "cleanup.policy": "compact"}
        reached.admin.try_topic(topic, shape.partitions, shape.replication, settings)
    except AdminError as problem:
        if problem.code == "INVALID_REPLICATION_FACTOR":
            what = f"{subject.where(f'{prefix}replication.factor')}: topic {topic}"
            wanted, there = shape.replication, len(reached.cluster.brokers)
            said = f"it does not exist, and cannot be made with replication factor {wanted}: brokers are {there}."
            return error(what, said, f"Set {prefix}replication.factor={there} or less, or start more brokers.", INVALID)
        return of_message(Level.ERROR, what, cannot_be_made(topic, shape, problem), "Make it yourself.")
    return ok(what, "it does not exist, and the worker may make it.")


def _existing(reached: Reached, what: str, topic: str, shape: TopicShape, layout: TopicLayout) -> Iterator[Finding]:
    count = len(layout.partitions)
    wrong_count = wrong_partitions(topic, shape, count)
    if wrong_count:
        yield of_message(Level.ERROR, what, wrong_count, "", INVALID)
    policy, min_isr = "", None
    try:
        settings = reached.admin.topic_settings([topic])[topic]
        policy = settings["cleanup.policy"].value or ""
        min_isr = settings[_MIN_ISR].value
    except (AdminError, KeyError) as problem:
        why = f" ({problem.words})" if isinstance(problem, AdminError) else ""
        advice = "Grant DESCRIBE_CONFIGS on it to the worker's user, or see yourself that cleanup.policy=compact."
        yield note(what, f"whether it is compacted is not told{why}.", advice)
    else:
        if wrong := wrong_policy(topic, policy):
            yield of_message(Level.ERROR, what, wrong, "", INVALID)
    yield from replication(what, topic, layout.partitions, shape.replication, len(reached.cluster.brokers), min_isr)
    rights = [] if layout.rights is None else [each for each in _NEEDED if each not in layout.rights]
    if rights:
        said = f"authorization: the worker's user may not {' and '.join(rights)}."
        yield error(what, said, f"Grant {', '.join(rights)} on it to the worker's user.", UNREACHABLE)
    if not wrong_count and not rights and policy == "compact":
        may = "" if layout.rights is None else ", with the rights that it takes"
        yield ok(what, f"{counted(count, 'partition')}, compacted{may}.")


def replication(
    what: str, topic: str, partitions: list[Replicas], wanted: int, brokers: int, min_isr: str | None
) -> Iterator[Finding]:
    """The findings about a topic's replicas.

    Args:
        wanted: the factor in the worker's file; -1 for the brokers' own.
        brokers: their number.
        min_isr: the topic's min.insync.replicas; None where it is unknown.
    """
    if unled := sum(not each.led for each in partitions):
        yield error(
            what, f"{counted(unled, 'partition')} without a leader.", "Start the brokers that have them.", UNREACHABLE
        )
        return
    factor = min(each.copies for each in partitions)
    in_sync = min(each.in_sync for each in partitions)
    least = int(min_isr) if min_isr and min_isr.isdecimal() else 1
    lower = f"kafka-configs --alter --entity-type topics --entity-name {topic} --add-config {_MIN_ISR}"
    if least > factor:
        said = f"{_MIN_ISR}={least} is more than the number of its copies, {factor}: brokers refuse every record."
        yield error(what, said, f"Run: {lower}={max(1, factor - 1)}")
    elif in_sync < least:
        said = f"its copies in sync are {in_sync}, and {_MIN_ISR}={least}: brokers refuse every record."
        yield error(what, said, "Start the brokers that are down.", UNREACHABLE)
    elif in_sync < factor:
        yield warning(what, f"of its {factor} copies {in_sync} are in sync.", "Start the brokers that are down.")
    elif least == factor > 1:
        said = f"{_MIN_ISR}={least} and {factor} copies: when one broker is down, the worker cannot write."
        yield warning(what, said, f"Run: {lower}={factor - 1}, or give it more copies.")
    if factor == 1 and brokers > 1:
        said = f"it has 1 copy, though there are {brokers} brokers: with that broker the pool stands still."
        yield warning(what, said, "Give it more with kafka-reassign-partitions.")
    elif 0 < factor < wanted:
        said = f"its copies are {factor}, and the file asks for {wanted}, which only counts when it is made."
        yield note(what, said, "Give it more with kafka-reassign-partitions, or correct the file.")
