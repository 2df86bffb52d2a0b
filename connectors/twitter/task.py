"""TwitterSourceTask: the stream, or some queries or users."""

from __future__ import annotations

import json
from collections.abc import Mapping

from connect import NotInstalledError, SourceBatch, SourceTask
from connectors.twitter import fields, keys
from connectors.twitter.failures import Interrupted
from connectors.twitter.keys import TwitterOptions
from connectors.twitter.rules import configured


class TwitterSourceTask(SourceTask):
    """Reads posts. The key is the post's id as a text, the timestamp is when it was made."""

    settings = TwitterOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        # tweepy takes half a second to import, and is in an extra.
        try:
            from connectors.twitter.api import Api
        except ModuleNotFoundError as error:
            raise NotInstalledError(
                f"The Twitter source needs the package {error.name}: pip install connect-runtime[twitter]."
            ) from error
        from connectors.twitter.polled import Polled
        from connectors.twitter.stream import Stream

        options = TwitterOptions.parse(config)
        options.check()
        rules = configured(options)
        asked = fields.parameters(options.config)
        context = self.context

        def make_api() -> Api:
            return Api(options, context.configs, context.metrics, context.stopping)

        if options.mode == keys.STREAM:
            tag = options.rules_tag or f"connect:{context.connector}"
            self._source: Stream | Polled = Stream(
                options,
                rules,
                tag,
                context,
                make_api,
                asked,
            )
        else:
            work: list[str] = json.loads(options.work or "[]")
            sources = {rule.value: rule.key for rule in rules}
            self._source = Polled(options, work, sources, context, make_api(), asked)

    def poll(self) -> SourceBatch | None:
        try:
            return self._source.poll()
        except Interrupted:
            return None

    def stop(self) -> None:
        if hasattr(self, "_source"):
            self._source.stop()
