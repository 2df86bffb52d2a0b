"""Translates errors of Spark into one line that a user can act on: `translate_error`.

An error passes many layers here: Python in an executor, Spark's JVM there, the driver's JVM, Python in the driver,
perhaps a Spark Connect server, and each wraps it in its own words. The search goes in this order: an error of this
project, wherever its Python ran; a condition with known advice (`known_errors.py`); the innermost cause. It is all text
by then.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from connect import errors
from connect.errors import ConfigError, ConnectError, RetriableError, cause_of, chain_of
from spark_sink.known_errors import RULES

_LONGEST = 600  # characters of a message
_LONGEST_TRACE = 30_000  # of the whole text

_TRACE = "JVM stacktrace:"
# Offsets and the plan of a query, up to the stack of Java's calls.
_PLAN = re.compile(rf"=== Streaming Query ===.*?(?=\n[^\S\n]++at |\n{_TRACE}|\Z)", re.DOTALL)


class SparkTrace(Exception):
    """The whole text of a Spark error, as the cause of the one-line error.

    The text is read while the JVM that has it lives; PySpark's own errors ask it each time they are printed.
    """


#: `module.Class: message`, the last line of a Python traceback.
_RAISED = re.compile(r"^(?P<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: (?P<said>[^\n]*))?$", re.MULTILINE)
_JAVA = ("java.", "org.apache.", "io.delta.", "scala.", "py4j.")
_OURS = ("connect.", "spark_sink.", "connectors.", "transforms.")
_CAUSED = re.compile(r"^(?:Caused by: |: )(?P<name>[\w.$]+)(?:: (?P<said>[^\n]*))?$", re.MULTILINE)
_WRAPPED = re.compile(
    r"\[(?:STREAM_FAILED|FOREACH_BATCH_USER_FUNCTION_ERROR|PYTHON_\w+|TASK_WRITE_FAILED)\]"
    r"|Query \[id = [^\]]{0,200}\] terminated with exception:"
    r"|\s{0,20}SQLSTATE: \w+"
)
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]{3,}\]\s*")
_NAMED = re.compile(r"^(?:[A-Za-z_]\w*\.)+[A-Z]\w*: ")  # how a text begins that we named
_ADVICE = re.compile(
    r" (?:Please retry the operation|Refer to https?://\S+|See https?://\S+).*"
)  # of others; ours follows
_CONFIG = re.compile(r'key "(?P<key>[^"]+)": (?P<message>.+)', re.DOTALL)
_FIELD = re.compile(r"^ \|-- (?P<name>[^:]+): (?P<type>\w+)", re.MULTILINE)


def translate_error(error: BaseException) -> ConnectError:
    """The error as a line: what, where, what to do. Its cause is the whole text, for the trace.

    An error of this project is returned as it is. `RetriableError` says that a restart may help.
    """
    if isinstance(error, ConnectError):
        return error
    for each in _chain(error):
        if isinstance(each, ConnectError):
            return each
    text = text_of(error)
    found = _made_of(error, text)
    found.__cause__ = SparkTrace(text[:_LONGEST_TRACE])
    return found


def text_of(error: BaseException) -> str:
    """The whole text of an error, without the plan of a query; uses no JVM that may be gone."""
    texts: list[str] = []
    for each in _chain(error):
        text = _own_text(each)
        if text and not any(text in other for other in texts):
            texts.append(text)
    return "\n".join(texts)


def _own_text(error: BaseException) -> str:
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    captured = getattr(error, "_desc", None)
    if isinstance(captured, str):  # PySpark's errors of a driver in this process
        text = f"{captured}\n{_TRACE}\n{getattr(error, '_stackTrace', None) or ''}"
    else:
        try:
            text = str(error)
        except Exception:  # py4j asks the JVM, which may be gone
            text = str(getattr(error, "errmsg", ""))
        # What a Spark Connect server knows beyond its message.
        trace = getattr(error, "_stacktrace", None)
        if isinstance(trace, str) and trace not in text:
            text = f"{text}\n{_TRACE}\n{trace}"
        text = f"{name}: {text}"
    return _PLAN.sub("", text).strip()


def _made_of(error: BaseException, text: str) -> ConnectError:
    head = text.partition(_TRACE)[0]
    if ours := _ours(head) or _ours(text):
        return ours
    said = _said(error, text)
    for rule in RULES:
        if found := rule.found.search(head) or rule.found.search(text):
            groups = {name: value or "" for name, value in found.groupdict().items()}
            words = {**groups, "said": said, "schemas": _schemas(text) or said}
            return rule.kind(_one_line(rule.say.format(**words).replace(" ()", "")))
    if isinstance(error, OSError):  # py4j's socket: nobody else raises one here
        return RetriableError(
            f"Spark's JVM does not answer ({str(error).strip()}): it ended. A restart of the task starts it again."
        )
    return ConnectError(_one_line(f"Spark failed: {said}"))


def _ours(text: str) -> ConnectError | None:
    """The outermost error of this project that a Python traceback in this text ends with."""
    for match in reversed(list(_RAISED.finditer(text))):
        name, said = match["name"], match["said"] or ""
        if name.startswith(_OURS) and (kind := _kind(name)):
            said = _one_line(said)
            if kind is ConfigError:
                parts = _CONFIG.fullmatch(said)
                return ConfigError(parts["key"], parts["message"]) if parts else ConnectError(said)
            return kind(said or name.rpartition(".")[2])
    return None


def _kind(name: str) -> type[ConnectError] | None:
    """The class of connect.errors that a raised class is or derives from; None for other errors."""
    module, _, short = name.rpartition(".")
    raised = getattr(sys.modules.get(module), short, None)
    if isinstance(raised, type) and issubclass(raised, ConnectError):
        return next(each for each in raised.__mro__ if each.__module__ == errors.__name__)
    known = getattr(errors, short, None)
    if isinstance(known, type) and issubclass(known, ConnectError):
        return known
    return ConnectError if raised is None and short.endswith("Error") else None


def _said(error: BaseException, text: str) -> str:
    """The message of the innermost cause, in one line that ends a sentence."""
    head = text.partition(_TRACE)[0]
    for part in (head, text):
        caused = [(match["name"], match["said"]) for match in _CAUSED.finditer(part) if match["said"]]
        if caused:
            name, said = caused[-1]
            if "PythonException" not in name:
                return _sentence(said)
        raised = [match for match in _RAISED.finditer(part) if not match["name"].startswith(_JAVA)]
        if raised and "Traceback" in part:
            name, said = raised[-1]["name"], raised[-1]["said"] or ""
            if name.startswith("pyspark."):
                return _sentence(said)
            where = re.findall(r'File "([^"]+)", line (\d+)', part[: raised[-1].start()])
            place = f" ({where[-1][0]}:{where[-1][1]})" if where else ""
            return _sentence(f"{name}: {said}{place}")
    return _sentence(_NAMED.sub("", head)) or type(error).__name__


def _sentence(text: str) -> str:
    text = _CONDITION.sub("", _WRAPPED.sub("", text)).strip().partition("\n")[0]
    text = _ADVICE.sub("", text).strip()
    text = text[:_LONGEST]
    return text if not text or text.endswith((".", "!", "?", ")")) else f"{text}."


def _schemas(text: str) -> str:
    """For a mismatch that Delta prints as two trees: the fields in which they differ."""
    _, mark, rest = text.partition("Table schema:")
    table, _, data = rest.partition("Data schema:")
    if not mark or not data:
        return ""
    theirs = dict(_FIELD.findall(table))
    ours = dict(_FIELD.findall(data.partition("\n\n")[0]))
    new = [f"{name} {kind}" for name, kind in ours.items() if name not in theirs]
    other = [
        f"{name} is {kind} and not {theirs[name]}" for name, kind in ours.items() if theirs.get(name, kind) != kind
    ]
    parts = ([f"the table has no {', '.join(new)}"] if new else []) + other
    return "; ".join(parts) + "." if parts else ""


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 4] + " ..."


def _chain(error: BaseException) -> Iterator[BaseException]:
    """As `chain_of`, without the causes of an error of the JVM: those are py4j's, which PySpark replaced."""
    for each in chain_of(error):
        yield each
        if hasattr(each, "_desc") and type(cause_of(each)).__module__.startswith("py4j."):
            return
