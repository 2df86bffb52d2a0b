"""Indices and data streams: found, created where that is enabled, given a mapping."""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase
from typing import Any

from connect import ConnectError, Schema
from connectors.elasticsearch.cluster import Cluster, failure
from connectors.elasticsearch.cluster.client import quoted
from connectors.elasticsearch.sink.keys import SinkOptions
from connectors.elasticsearch.sink.mapping import mapping_of

log = logging.getLogger(__name__)


class Resources:
    """The targets that exist. For the task's thread. Raises what the cluster's client raises."""

    def __init__(self, options: SinkOptions, cluster: Cluster) -> None:
        self._options = options
        self._cluster = cluster
        self._there: set[str] = set()
        self._mapped: set[str] = set()

    def check(self) -> None:
        """Check that the resources in the configuration exist.

        Raises:
            ConnectError: one does not, or is something else.
        """
        for topic, name in self._options.resources.items():
            kinds = self._kinds(name)
            wanted = self._options.resource_kind
            fits = {
                "index": {"indices"},
                "alias": {"aliases"},
                "data_stream": {"data_streams", "aliases"},
            }[wanted]
            if not kinds & fits:
                called = wanted.replace("_", " ")
                said = f"is none ({', '.join(sorted(kinds))})" if kinds else "does not exist"
                raise ConnectError(
                    f"{self._cluster.where}: the {called} {name}, for the topic {topic}, {said}. Create it, or correct "
                    "the mapping of topics to resources."
                )
            self._there.add(name)

    def ensure(self, name: str, topic: str, schema: Schema | None) -> None:
        """Ensure that a target exists, with a mapping if it should have one.

        Args:
            name: the target.
            topic: whose records go there.
            schema: of the values of such a record.
        """
        options = self._options
        if name not in self._there:
            if options.resources:
                self.check()
            elif options.stream is not None:
                self._ensure_stream(name)
            elif not self._cluster.exists(f"/{quoted(name)}"):
                self._create(name)
            self._there.add(name)
        if schema is None or name in self._mapped or options.schema_ignored or topic in options.schemaless:
            return
        wanted = mapping_of(schema, options)
        if wanted is not None and not options.to_streams and not self._has_mapping(name):
            try:
                self._cluster.request("PUT", f"/{quoted(name)}/_mapping", wanted)
            except Exception as error:
                if (found := failure(error)).kind != "malformed":
                    raise
                raise ConnectError(
                    f"{self._cluster.where}: {name} gets no mapping from the schema of the topic {topic}: "
                    f"{found.sentence} Change its fields by a transformation, or set schema.ignore=true."
                ) from error
            log.info("made the mapping of %s from the schema of topic %s", name, topic)
        self._mapped.add(name)

    def _kinds(self, name: str) -> set[str]:
        """The kinds of things with this name: of indices, aliases, data_streams."""
        try:
            found: dict[str, list[Any]] = self._cluster.request("GET", f"/_resolve/index/{quoted(name)}")
        except Exception as error:
            if failure(error).kind == "missing":
                return set()
            raise
        return {kind for kind, entries in found.items() if entries}

    def _create(self, name: str) -> None:
        templates = self._options.dynamic_templates
        body = {"mappings": {"dynamic_templates": templates}} if templates else {}
        self._unless_there(f"/{quoted(name)}", body)
        log.info("made the index %s", name)

    def _ensure_stream(self, name: str) -> None:
        kinds = self._kinds(name)
        if "data_streams" in kinds:
            return
        if kinds:
            raise ConnectError(
                f"{self._cluster.where}: {name} is to be a data stream, and it is something else. Remove it, or choose "
                "another name."
            )
        template = self._options.stream_template
        has_one = self._has_template(template, name)
        if has_one is False:
            self._make_template(template or name, name)
        if template is None and has_one is not None:
            return  # the first document makes the stream
        # Where the template is for other names, a document would make an index.
        try:
            self._unless_there(f"/_data_stream/{quoted(name)}", None)
        except Exception as error:
            if template is None or failure(error).kind != "credentials":
                raise
            log.debug("the first document makes the data stream %s: %s", name, error)

    def _make_template(self, template: str, name: str) -> None:
        """Make a template for the data stream of a name."""
        options = self._options
        mappings: dict[str, Any] = {"properties": {options.time_field: {"type": "date"}}}
        if options.dynamic_templates:
            mappings["dynamic_templates"] = options.dynamic_templates
        of_stream: dict[str, Any] = {}
        if options.time_field != "@timestamp":
            of_stream = {"timestamp_field": {"name": options.time_field}}
        body = {"index_patterns": [name], "data_stream": of_stream, "template": {"mappings": mappings}, "priority": 500}
        self._cluster.request("PUT", f"/_index_template/{quoted(template)}", body)
        log.info("made the index template %s for the data stream %s", template, name)

    def _has_template(self, template: str | None, name: str) -> bool | None:
        """Whether there is this template, or, for None, one that makes an index of this name a data stream.

        None where the user may not see templates.
        """
        try:
            if template is not None:
                return self._cluster.exists(f"/_index_template/{quoted(template)}")
            found = self._cluster.request("GET", "/_index_template").get("index_templates", [])
        except Exception as error:
            if failure(error).kind != "credentials":
                raise
            return None
        templates = [each.get("index_template", {}) for each in found]
        patterns = [pattern for each in templates if "data_stream" in each for pattern in each["index_patterns"]]
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    def _unless_there(self, path: str, body: Any) -> None:
        """Another task may be faster."""
        try:
            self._cluster.request("PUT", path, body)
        except Exception as error:
            if "resource_already_exists_exception" not in failure(error).sentence:
                raise

    def _has_mapping(self, name: str) -> bool:
        found = self._cluster.request("GET", f"/{quoted(name)}/_mapping")
        return any(each.get("mappings", {}).get("properties") for each in found.values())
