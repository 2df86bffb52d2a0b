"""The consumer groups of a cluster."""

from confluent_kafka.admin import AdminClient


def group_ids(bootstrap_servers: str) -> set[str]:
    """The names of all consumer groups.

    The client has a name here: one that is collected before its answer has come never answers, or ends the process
    (librdkafka is not to be closed from its own thread).
    """
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    return {group.group_id for group in admin.list_consumer_groups().result(30).valid}
