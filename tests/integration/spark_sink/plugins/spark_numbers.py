"""A third party's source whose reading can be split: ten numbers in two splits, once. It counts what it reads."""

from connect import ReadPlan, SourceBatch, SourceConnector, SourceRecord, SplitSourceTask


class NumbersTask(SplitSourceTask):
    def start(self, config):
        self.planned = self.context.offset({"numbers": "all"}) is not None

    def plan(self, most):
        if self.planned:
            return None
        self.planned = True
        return ReadPlan([{"from": 0, "to": 4}, {"from": 4, "to": 10}], [({"numbers": "all"}, {"next": 10})])

    def poll(self):
        return None

    def read(self, config, split):
        numbers = range(split["from"], split["to"])
        self.context.metrics.count("numbers_read_total", len(numbers))
        self.context.metrics.observe("numbers_read_seconds", 0.5)
        records = [SourceRecord(config["topic"], {"number": number}) for number in numbers]
        yield SourceBatch.of(records)


class NumbersConnector(SourceConnector):
    task = NumbersTask
    engines = ("worker", "spark")
