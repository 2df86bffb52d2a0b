"""The chain of converters and transformations over a batch, and what happens to records that fail in it."""

from connect.pipeline.build import sink_chain, source_chain, transformation_chain
from connect.pipeline.chain import Chain, Step
from connect.pipeline.failure import Failure, Stage
from connect.pipeline.policy import ErrorCounts, ErrorPolicy, RecordError

__all__ = [
    "Chain",
    "ErrorCounts",
    "ErrorPolicy",
    "Failure",
    "RecordError",
    "Stage",
    "Step",
    "sink_chain",
    "source_chain",
    "transformation_chain",
]
