"""The keys of a worker's properties file.

https://kafka.apache.org/documentation/#connectconfigs. What a key means for one client only stands under `producer.`,
`consumer.` or `admin.`; a converter's own keys under `key.converter.` and so on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connect.settings.definition import define
from connect.settings.distributed_keys import CLIENT, DISTRIBUTED_ONLY
from connect.settings.isolation_keys import IsolationOptions, JavaProcessOptions
from connect.settings.lineage_keys import LineageOptions
from connect.settings.metrics_keys import MetricsOptions, PrometheusOptions
from connect.settings.opentelemetry_keys import OpenTelemetryOptions
from connect.settings.options import Options
from connect.settings.recovery_keys import RecoveryOptions
from connect.settings.rest_security_keys import RestSecurityOptions
from connect.settings.setting import Boolean, Class, Int, List, Long, String, seconds
from connect.settings.validators import at_least, between, did_you_mean, non_empty, one_of, servers, urls


class RunOptions(Options):
    """How a worker runs connectors and tasks. Times are in seconds."""

    flush_interval = Long(
        "offset.flush.interval.ms",
        default=60_000,
        importance="LOW",
        validator=at_least(1),
        convert=seconds,
        doc="Milliseconds between two commits of a task's offsets.",
    )
    flush_timeout = Long(
        "offset.flush.timeout.ms",
        default=5_000,
        importance="LOW",
        validator=at_least(1),
        convert=seconds,
        doc="Milliseconds that a commit of offsets may take; after that they are stored with the next ones.",
    )
    graceful = Long(
        "task.shutdown.graceful.timeout.ms",
        default=5_000,
        importance="LOW",
        validator=at_least(1),
        convert=seconds,
        doc="Milliseconds in which all tasks together must stop; the worker kills those that still run then.",
    )
    makes_topics = Boolean(
        "topic.creation.enable",
        default=True,
        importance="LOW",
        doc="Whether the topics of source connectors with topic.creation.* keys are created by the worker.",
    )
    tracks_topics = Boolean(
        "topic.tracking.enable",
        default=True,
        importance="LOW",
        doc="Whether the topics that each connector uses are remembered.",
    )
    forgets_topics = Boolean(
        "topic.tracking.allow.reset",
        default=True,
        importance="LOW",
        doc="Whether the REST API may forget them.",
    )
    default_engine = String(
        "engine.default",
        default="worker",
        importance="LOW",
        validator=one_of("worker", "spark"),
        doc="What runs connectors that name no engine and can run on several: worker or spark. Only here, not in "
        "Kafka.",
    )


class TapOptions(Options):
    """Looking at the records of running tasks."""

    enabled = Boolean(
        "tap.enabled",
        default=True,
        importance="LOW",
        doc="Whether users with the role operator may look at records on their way through a task, and editors try "
        "configurations on records. Only here, not in Kafka.",
    )
    masks = List(
        "tap.mask.fields",
        default=[
            "*password*",
            "*passwd*",
            "*secret*",
            "*token*",
            "*credential*",
            "*authorization*",
            "*api?key*",
            "*apikey*",
            "*private?key*",
        ],
        importance="LOW",
        doc="Names of fields and headers whose values are masked in these records; * and ? as in a shell, in any case. "
        "Empty masks nothing. Only here, not in Kafka.",
    )


class RestOptions(Options):
    """The REST API."""

    listeners = List(
        "listeners",
        default=["http://:8083"],
        importance="LOW",
        validator=urls,
        doc="Addresses of the REST API, such as http://:8083 or https://host:8443.",
    )
    admin_listeners = List(
        "admin.listeners",
        default=None,
        importance="LOW",
        validator=urls,
        doc="Addresses of the REST API's /admin part, if they differ. Empty switches that part off.",
    )
    advertised_host = String(
        "rest.advertised.host.name",
        default=None,
        importance="LOW",
        doc="The host at which other workers reach it.",
    )
    advertised_port = Int(
        "rest.advertised.port",
        default=None,
        importance="LOW",
        validator=between(0, 65535),
        doc="The port at which other workers reach it.",
    )
    advertised_listener = String(
        "rest.advertised.listener",
        default=None,
        importance="LOW",
        validator=one_of("http", "https", ignore_case=True),
        doc="Which listener other workers use: http or https.",
    )
    allowed_origins = String(
        "access.control.allow.origin",
        default="",
        importance="LOW",
        doc="Origins of web pages that may use the REST API (CORS), or patterns for them: https://ui.example.com, "
        "https://.*\\.example\\.com; * for any. Empty means only its own.",
    )
    allowed_methods = String(
        "access.control.allow.methods",
        default="",
        importance="LOW",
        doc="HTTP methods that such pages may use. Empty means GET, POST and HEAD.",
    )
    header_rules = String(
        "response.http.headers.config",
        default="",
        importance="LOW",
        doc="Rules for headers of REST answers: <action> <name>:<value>, separated by commas.",
    )
    extensions = List(
        "rest.extension.classes",
        default=[],
        importance="LOW",
        doc="REST extensions, in order: Python callables, module:callable, that get the FastAPI app.",
    )
    masks_secrets = Boolean(
        "rest.mask.secrets",
        default=True,
        importance="MEDIUM",
        doc="Whether the REST API hides passwords and other secrets in configurations. A client may write a mask back: "
        "it stands for the stored secret. Only here, not in Kafka, which shows all.",
    )


#: What standalone and distributed workers share.
COMMON: Final = (
    define(
        # Brokers.
        List(
            "bootstrap.servers",
            importance="HIGH",
            validator=servers,
            doc="Brokers to find the Kafka cluster by: host:port, separated by commas. The word embedded means a real "
            "broker on this machine, which the worker starts if there is none.",
        ),
        String(
            "client.dns.lookup",
            default="use_all_dns_ips",
            validator=one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
            doc="How the names of brokers become addresses.",
        ),
        # Converters.
        Class(
            "key.converter",
            importance="HIGH",
            validator=non_empty,
            doc="Converts record keys between Kafka's bytes and values, for connectors that name no converter of "
            "their own.",
        ),
        String("key.converter.plugin.version", default=None, importance="LOW", doc="Which versions of it may be used."),
        Class(
            "value.converter",
            importance="HIGH",
            validator=non_empty,
            doc="Converts record values between Kafka's bytes and values, for connectors that name no converter of "
            "their own.",
        ),
        String(
            "value.converter.plugin.version", default=None, importance="LOW", doc="Which versions of it may be used."
        ),
        Class(
            "header.converter",
            default="org.apache.kafka.connect.storage.SimpleHeaderConverter",
            importance="LOW",
            doc="Converts the values of headers, for connectors that name no converter of their own.",
        ),
        String(
            "header.converter.plugin.version", default=None, importance="LOW", doc="Which versions of it may be used."
        ),
    )
    | RunOptions.definition()
    | TapOptions.definition()
    | define(
        # Plug-ins.
        List(
            "plugin.path",
            default=None,
            importance="LOW",
            doc="Folders that hold plug-ins, separated by commas; each plug-in folder brings its own libraries.",
        ),
        String(
            "plugin.discovery",
            default="hybrid_warn",
            importance="LOW",
            validator=one_of("only_scan", "service_load", "hybrid_warn", "hybrid_fail", ignore_case=True),
            doc="How Java's worker looks for plug-ins. It is without effect: this worker finds them without importing "
            "anything.",
        ),
        List(
            "config.providers",
            default=[],
            importance="LOW",
            doc="Aliases of config providers, which fill in ${alias:path:key}. Each has its class in "
            "config.providers.<alias>.class and settings under config.providers.<alias>.param.",
        ),
        String(
            "connector.client.config.override.policy",
            default="All",
            doc="Which client settings a connector may override: All, None, Principal, Allowlist, or a class.",
        ),
    )
    | RestOptions.definition()
    | define(
        # Logs. Java's worker has a file of its own for them, and takes no notice of these keys.
        String(
            "log.level",
            default="INFO",
            importance="LOW",
            validator=one_of("DEBUG", "INFO", "WARN", "ERROR", ignore_case=True),
            doc="The lowest level that is logged: DEBUG, INFO, WARN or ERROR. Only here, not in Kafka.",
        ),
        String(
            "log.format",
            default="text",
            importance="LOW",
            validator=one_of("text", "json"),
            doc="How lines are logged: text for people, json for machines. Only here, not in Kafka.",
        ),
    )
    | RecoveryOptions.definition()
    | IsolationOptions.definition()
    | JavaProcessOptions.definition()
    | LineageOptions.definition()
)

STANDALONE_ONLY: Final = define(
    String(
        "offset.storage.file.filename",
        importance="HIGH",
        validator=non_empty,
        doc="The file in which source connectors' offsets are kept.",
    ),
)

_WATCHED: Final = (
    MetricsOptions.definition()
    | PrometheusOptions.definition()
    | OpenTelemetryOptions.definition()
    | RestSecurityOptions.definition()
)

#: Everything that a standalone worker reads itself.
STANDALONE: Final = COMMON | _WATCHED | STANDALONE_ONLY

#: Everything that a distributed worker reads itself.
DISTRIBUTED: Final = COMMON | _WATCHED | CLIENT | DISTRIBUTED_ONLY

#: What starts like this is read by somebody else: a client, a converter, a provider, the web server, a topic.
PREFIXES: Final = (
    *("producer.", "consumer.", "admin."),
    *("key.converter.", "value.converter.", "header.converter."),
    *("config.providers.", "listeners.https.", "admin.listeners.https.", "metrics.context."),
    *("config.storage.", "offset.storage.", "status.storage."),
    *("ssl.", "sasl.", "security.", "spark."),
)
_READ_ELSEWHERE: Final = frozenset({"connector.client.config.override.allowlist"})


def unknown_keys(keys: Iterable[str]) -> list[tuple[str, str]]:
    """The unknown keys of a worker's file, each with a message. Worth a warning, as in Kafka."""
    known = {setting.name for setting in STANDALONE | DISTRIBUTED} | _READ_ELSEWHERE
    found = []
    for key in keys:
        if key in known or key.startswith(PREFIXES):
            continue
        near = did_you_mean(key, known)
        found.append((key, f"is not known and has no effect. Did you mean {near}?" if near else _UNKNOWN))
    return found


_UNKNOWN = "is not known and has no effect. Remove it, or set it where it belongs (a connector, or producer.<key>)."
