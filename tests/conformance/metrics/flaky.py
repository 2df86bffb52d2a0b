"""The transformation of Flaky.java, for our worker. It remembers, so it is run record by record."""

from connect import RetriableError, Transformation
from connect.errors import DataError


class Flaky(Transformation):
    def __init__(self):
        self.tries = 0

    def apply(self, record):
        if record.value == "never":
            raise DataError("never")
        if record.value == "twice" and self.tries < 2:
            self.tries += 1
            raise RetriableError("not yet")
        return record
