"""The connector checks the keys and distributes queries or users; its tasks read the stream, or some of those."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from connect import (
    ConfigError,
    ConnectError,
    ExactlyOnceSupport,
    NotInstalledError,
    SourceBatch,
    SourceConnector,
    SourceTask,
    __version__,
)
from connect.kit import shared_out
from connect.settings import ConfigValue
from connectors.twitter import fields, keys, offsets
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
            stream = Stream(options, rules, tag, context, make_api, asked)
            context.exit_stack.callback(stream.stop)
            self._source: Stream | Polled = stream
        else:
            work: list[str] = json.loads(options.work or "[]")
            sources = {rule.value: rule.key for rule in rules}
            api = make_api()
            context.exit_stack.callback(api.close)
            self._source = Polled(options, work, sources, context, api, asked)

    def poll(self) -> SourceBatch | None:
        try:
            return self._source.poll()
        except Interrupted:
            return None


class TwitterSourceConnector(SourceConnector):
    """Posts of X (Twitter) into a topic."""

    settings = TwitterOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {"tweepy": "connect-runtime[twitter]"}
    version = __version__
    task = TwitterSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._options = options = TwitterOptions.parse(self.config)
        options.check()
        self._rules = configured(options)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._options.mode == keys.STREAM:
            return [dict(self.config)]
        return [{**self.config, keys.WORK: json.dumps(share)} for share in shared_out(self._work(), max_tasks)]

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        if any(value.errors for value in values):
            return values
        found = {value.name: value for value in values}
        try:
            options = TwitterOptions.parse(config)
            options.check()
            configured(options)
        except ConfigError as error:
            if error.key not in found:  # one of twitter.rule.<name>, of which there are as many as the user likes
                found[error.key] = ConfigValue(error.key, str(config.get(error.key) or ""))
            found[error.key].errors.append(error.message)
        return list(found.values())

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        # After a restart the stream's gap is filled from a little before the last post on, so some come again.
        stream = (config.get("twitter.mode") or keys.STREAM).strip() == keys.STREAM
        return ExactlyOnceSupport.UNSUPPORTED if stream else ExactlyOnceSupport.SUPPORTED

    def alter_offsets(self, config: Mapping[str, str], changed: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for frozen, offset in changed.items():
            partition = dict(frozen)
            if offset is None:
                continue
            if not _known(partition):
                raise ConnectError(
                    'A source partition is {"mode": "stream"}, {"mode": "search", "query": "<the rule as it is '
                    'configured>"} or {"mode": "timeline", "user": "<the id of a user>"}.'
                )
            if wrong := offsets.problem(offset, stream=partition["mode"] == "stream"):
                raise ConnectError(f"The offset of {partition} is wrong: {wrong}.")
        return True

    def _work(self) -> list[str]:
        """Queries; or users, by name or id."""
        if self._options.mode == keys.SEARCH:
            return [rule.value for rule in self._rules]
        users = [*self._options.users, *self._options.filter_user_ids]
        return list(dict.fromkeys(_bare(user) for user in users if user))


def _bare(user: str) -> str:
    """A user without @, but for a name of digits, which would be an id without it."""
    return user if user[1:].isdigit() else user.removeprefix("@")


def _known(partition: Mapping[str, Any]) -> bool:
    match partition:
        case {"mode": "stream", **more}:
            return not more
        case {"mode": "search", "query": str(), **more}:
            return not more
        case {"mode": "timeline", "user": str(user), **more}:
            return not more and user.isascii() and user.isdigit()
    return False
