"""The JVM of a process, by JPype: Kafka Connect's runtime, and the class loaders of the required plug-ins.

https://jpype.readthedocs.io/ A process has one JVM, from its first use to its end.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn, TypeVar

from connect.errors import ConfigError, ConnectError, DataError, RetriableError
from connect.java import loggers, logs
from connect.java.jvm_options import OPTIONS, left_of
from connect.java.plugin_path import plugin_path
from connect.jvm.jars import JarsUnavailable, resolve
from connect.jvm.java import JavaNotFound, find_java, home_of

log = logging.getLogger("connect.java")
T = TypeVar("T")
#: Loggers whose INFO is a list of all plug-ins or of all settings.
_TALKATIVE: Final = (
    "org.apache.kafka.connect.runtime.isolation",
    "org.apache.kafka.common.config",
    "org.apache.kafka.clients.producer.ProducerConfig",
    "org.apache.kafka.clients.consumer.ConsumerConfig",
    "org.apache.kafka.clients.admin.AdminClientConfig",
    "org.apache.kafka.connect.runtime.distributed.DistributedConfig",
    "org.apache.kafka.connect.runtime.standalone.StandaloneConfig",
    "org.apache.kafka.connect.runtime.ConnectorConfig",
    "org.apache.kafka.connect.runtime.SourceConnectorConfig",
    "org.apache.kafka.connect.runtime.SinkConnectorConfig",
    "org.apache.kafka.connect.runtime.TaskConfig",
)
#: How long shutdown hooks of a JVM may take that a plug-in ends.
_HOOKS_S: Final = 10.0
_lock = threading.Lock()


def start(options: Iterable[str] = (), *, defaults: Iterable[str] = OPTIONS) -> None:
    """Start the JVM of this process, unless it runs.

    Args:
        options: of the JVM. They, and those of the environment, replace defaults that say the same.
        defaults: the others.

    Raises:
        ConfigError: JPype, a Java or the jars are missing; or Java refuses an option.
    """
    if find_spec("jpype") is None:
        raise ConfigError("connector.class", "is a Java class. Run: pip install 'connect-runtime[java]'")
    import jpype
    import jpype.config

    with _lock:
        if jpype.isJVMStarted():
            return
        jpype.config.onexit = False  # the process ends whatever threads a plug-in has left
        try:
            jars = resolve("kafka-connect")
            library = _library(home_of(find_java()))
            levels = [
                "-Dorg.slf4j.simpleLogger.showThreadName=true",
                *(f"-Dorg.slf4j.simpleLogger.log.{name}=warn" for name in _TALKATIVE),
            ]
            jpype.startJVM(
                *left_of(defaults, options), *levels, *options,
                jvmpath=library, classpath=[str(jar) for jar in jars], convertStrings=True, interrupt=False,
            )  # fmt: skip
        except (JavaNotFound, JarsUnavailable) as error:
            raise ConfigError("connector.class", f"is a Java class: {error}") from error
        except (OSError, RuntimeError) as error:
            raise ConfigError("java.options", f"Java does not start: {error}") from error
        atexit.register(_let_python_end)
        logs.follow()
        loggers.follow()


def _let_python_end() -> None:
    """Stop JPype's own thread, which drops the Python objects that Java holds no more.

    An interpreter that ends also ends the threads that ask for it, until Python 3.14. JPype takes that for an exception
    of C++, and the process aborts ("FATAL: exception not rethrown").
    """
    java("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def _library(home: Path) -> str:
    found = next(iter(sorted(home.glob("lib/server/libjvm.*"))), None)
    if found is None:
        raise ConfigError("connector.class", f"is a Java class, and {home} has no lib/server/libjvm. Set JAVA_HOME.")
    return str(found)


@cache
def java(name: str) -> Any:
    """A class of the JVM, by its full name."""
    import jpype

    return jpype.JClass(name)


def loaded(name: str, places: Iterable[Path]) -> Any:
    """A class from jars or folders of class files, beside what the JVM began with."""
    import jpype

    urls = [place.absolute().as_uri() + ("/" if place.is_dir() else "") for place in places]
    url = java("java.net.URL")
    loader = java("java.net.URLClassLoader")(
        [url(each) for each in urls], java("java.lang.ClassLoader").getSystemClassLoader()
    )
    return jpype.JClass(name, loader=loader)


def attach(name: str | None = None) -> None:
    """This thread is to call Java: it has the class loader that a thread of Java has from the one that starts it.

    Args:
        name: that it has in Java.
    """
    thread = java("java.lang.Thread").currentThread()
    if name is not None:
        thread.setName(name)
    if thread.getContextClassLoader() is None:
        thread.setContextClassLoader(java("java.lang.ClassLoader").getSystemClassLoader())


def detach() -> None:
    """This thread calls Java no more: give back what the JVM keeps for it."""
    thread = java("java.lang.Thread")
    if thread.isAttached():
        thread.detach()


def proxy(interface: str, methods: Mapping[str, Callable[..., Any]]) -> Any:
    """An object of a Java interface whose methods are these; the others raise UnsupportedOperationException."""
    import jpype

    def invoke(_proxy: Any, method: Any, arguments: Any) -> Any:
        name = str(method.getName())
        if name in methods:
            return methods[name](*(arguments or ()))
        if name == "toString":
            return f"{interface} of connect-runtime"
        if name == "hashCode":
            return jpype.JInt(0)
        raise java("java.lang.UnsupportedOperationException")(f"{interface}.{name}")

    handler = jpype.JProxy("java.lang.reflect.InvocationHandler", dict={"invoke": invoke})
    of = java(interface).class_
    return java("java.lang.reflect.Proxy").newProxyInstance(of.getClassLoader(), [of], handler)


@cache
def _measures() -> Any:
    """Where the plug-ins of this process register what they measure. Nobody reads it."""
    return java("org.apache.kafka.common.metrics.Metrics")()


def plugin_metrics(**tags: str) -> Any:
    """A PluginMetrics for one plug-in. Close it with the plug-in.

    Args:
        tags: what tells it from others.
    """
    return java("org.apache.kafka.common.metrics.internals.PluginMetricsImpl")(_measures(), to_map(tags))


def to_map(entries: Mapping[Any, Any]) -> Any:
    """A java.util.HashMap."""
    made = java("java.util.HashMap")()
    for key, value in entries.items():
        made.put(to_java(key), to_java(value))
    return made


def to_java(value: Any) -> Any:
    """A JSON value in Java's types: numbers are Long and Double."""
    if isinstance(value, Mapping):
        return to_map(value)
    if isinstance(value, list | tuple):
        made = java("java.util.ArrayList")()
        for each in value:
            made.add(to_java(each))
        return made
    if isinstance(value, bool):
        return java("java.lang.Boolean")(value)
    if isinstance(value, int):
        return java("java.lang.Long")(value)
    if isinstance(value, float):
        return java("java.lang.Double")(value)
    return value


def to_bytes(data: bytes) -> Any:
    """An array of bytes."""
    import jpype

    return jpype.JArray(jpype.JByte)(data)


def from_java(value: Any) -> Any:
    """The reverse, for JSON values."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, java("java.util.Map")):
        return {from_java(entry.getKey()): from_java(entry.getValue()) for entry in value.entrySet()}
    if isinstance(value, java("java.util.Collection")):
        return [from_java(each) for each in value]
    if isinstance(value, java("java.lang.Boolean")):
        return bool(value)
    if isinstance(value, java("java.lang.Number")):
        whole = isinstance(value, tuple(map(java, ("java.lang.Long", "java.lang.Integer", "java.lang.Short"))))
        return int(value) if whole else float(value)
    return str(value)


class PluginLoaders:
    """Kafka Connect's class loaders for some plug-ins, isolated from each other.

    Args:
        folders: of plug-ins: jars, or folders of jars.
    """

    _shared: ClassVar[dict[tuple[str, ...], tuple[PluginLoaders, int]]] = {}

    @classmethod
    @contextmanager
    def shared(cls, folders: Iterable[str]) -> Iterator[PluginLoaders]:
        """Those that all tasks of this process have which need the same plug-ins: classes are loaded once."""
        key = tuple(dict.fromkeys(folders))
        made = cls._taken(key)
        try:
            yield made
        finally:
            with _lock:
                _, users = cls._shared[key]
                cls._shared[key] = made, users - 1
                if users == 1:
                    del cls._shared[key]

    @classmethod
    def keep(cls, folders: Iterable[str]) -> None:
        """Make those of `shared` before a task asks for them. They stay as long as the process lives."""
        cls._taken(tuple(dict.fromkeys(folders)))

    @classmethod
    def _taken(cls, key: tuple[str, ...]) -> PluginLoaders:
        with _lock:
            made, users = cls._shared.get(key, (None, 0))
            made = made or cls(key)
            cls._shared[key] = made, users + 1
        return made

    def __init__(self, folders: Iterable[str]) -> None:
        places = [Path(folder).absolute() for folder in dict.fromkeys(folders)]
        self.properties = {"plugin.path": str(plugin_path(places)), "plugin.discovery": "service_load"}
        self.plugins = java("org.apache.kafka.connect.runtime.isolation.Plugins")(to_map(self.properties))

    def of(self, name: str) -> AbstractContextManager[None]:
        """Within, this thread's class loader is that of a plug-in: some load classes of their own by it."""
        thread = java("java.lang.Thread").currentThread()
        return _class_loader(self.plugins.pluginLoader(name, None, thread.getContextClassLoader()))

    def all(self) -> AbstractContextManager[None]:
        """Within, this thread's class loader finds the classes of all of them."""
        return _class_loader(self.plugins.delegatingLoader())


@contextmanager
def _class_loader(loader: Any) -> Iterator[None]:
    thread = java("java.lang.Thread").currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(loader)
    try:
        yield
    finally:
        thread.setContextClassLoader(before)


def translated(call: Callable[[], T], what: str, *, plain: bool = False) -> T:
    """Run Java code; its exceptions become errors of this project with Java's words. `plain` as for `as_error`.

    Does not return when a plug-in has called System.exit.

    Raises:
        ConfigError, DataError, RetriableError, ConnectError: as the exception says.
    """
    import jpype

    try:
        return call()
    except jpype.JException as error:
        failure = as_error(error, what, plain=plain)
    except jpype.JVMNotRunning:
        _end_with_it()
    raise failure  # its cause is Java's trace


def _end_with_it() -> NoReturn:
    """Wait for the end of this process: its JVM is about to end it, and runs its shutdown hooks before.

    A task that failed by now would be a guess at the cause; and who restarted it would begin another in this process.
    """
    time.sleep(_HOOKS_S)
    log.error("The JVM has not ended within %g s of System.exit: a shutdown hook hangs. Its process ends.", _HOOKS_S)
    os._exit(1)


def as_error(error: Any, what: str, *, plain: bool = False) -> ConnectError:
    """Java's exception as an error of this project: its kind, its class and message, and its trace as the cause.

    `plain`: a ConnectException, with which a connector refuses what a user asks of it, has its message alone.
    """
    message = error.getMessage()
    words = f"{what}: {error.getClass().getName()}" + ("" if message is None else f": {message}")
    names = []
    kind = error.getClass()
    while kind is not None:
        names.append(str(kind.getName()))
        kind = kind.getSuperclass()
    if plain and "org.apache.kafka.connect.errors.ConnectException" in names and message is not None:
        words = str(message)
    made: ConnectError
    if any(name.endswith((".ConfigException", ".ConnectorConfigException")) for name in names):
        made = ConfigError("connector.class", words)
    elif "org.apache.kafka.connect.errors.RetriableException" in names:
        made = RetriableError(words)
    elif "org.apache.kafka.connect.errors.DataException" in names:
        made = DataError(words)
    else:
        made = ConnectError(words)
    made.__cause__ = JavaTrace(trace_of(error))
    return made


class JavaTrace(Exception):
    """An exception's trace in Java, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def trace_of(error: Any) -> str:
    """A Throwable with all of its causes, as Java prints it."""
    writer = java("java.io.StringWriter")()
    error.printStackTrace(java("java.io.PrintWriter")(writer))
    return str(writer.toString())
