"""Predicates: which records a transformation is for (KIP-585).

https://kafka.apache.org/documentation/#connect_predicates
"""

from transforms.predicates.has_header_key import HasHeaderKey
from transforms.predicates.record_is_tombstone import RecordIsTombstone
from transforms.predicates.topic_name_matches import TopicNameMatches

__all__ = ["HasHeaderKey", "RecordIsTombstone", "TopicNameMatches"]
