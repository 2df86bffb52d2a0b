"""A transformation as a user would write one who knows nothing of batches. It changes nothing."""

from connect import SinkRecord, SourceRecord, Transformation


class Unchanged(Transformation):
    """Sees every record on its own and hands it back."""

    def apply(self, record: SourceRecord | SinkRecord) -> SourceRecord | SinkRecord:
        return record
