"""The interface of config providers, and Kafka's three: file, directory, environment variable.

https://kafka.apache.org/documentation/#config_providers (KIP-297, KIP-887, KIP-993)

Different on purpose: a symbolic link cannot lead out of `allowed.paths`, which it can in Kafka; only regular files are
read, and at most 1 MiB: no device, and no pipe without a writer, can block the reader.
"""

from __future__ import annotations

import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from connect.errors import ConnectError
from connect.settings.properties import PropertiesError, loads, unreadable
from connect.settings.raw import comma_separated
from connect.settings.regular_files import TooLargeFileError, UnfitFileError, read_regular

#: So many bytes a provider reads of a file, and of all files together that a configuration names in one directory.
#: More does not fit into a Secret of Kubernetes either.
MOST_BYTES: Final = 1 << 20
#: Linux's PATH_MAX. To follow a longer one takes the square of its length.
_LONGEST_PATH: Final = 4096


class ProviderError(ConnectError):
    """A provider failed: what is wrong and what to do; `param` names the parameter at fault, if one is."""

    def __init__(self, message: str, param: str = "") -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True)
class ProviderData:
    """A provider's result.

    `note` says why a key may be missing, e.g. a forbidden path.
    """

    values: Mapping[str, str] = field(repr=False)
    note: str = ""


class ConfigProvider(ABC):
    """Looks up values that should not stand in a configuration, mostly secrets.

    Operator code: it runs with the rights of the worker. Called in this order, by one thread at a time:

        configure -> get* -> close
    """

    @abstractmethod
    def configure(self, params: Mapping[str, str]) -> None:
        """Receives the settings under `config.providers.<alias>.param.`. Raise ProviderError for a wrong one."""

    @abstractmethod
    def get(self, path: str, keys: frozenset[str]) -> ProviderData:
        """Look up `keys` under `path`, which is "" in `${alias:key}`.

        A missing key is left out of the result. Raise ProviderError if the path itself cannot be read.
        """

    @property
    def doubt(self) -> tuple[str, str] | None:
        """A parameter that should be set and is not, and why. Logged once, when the worker starts."""
        return None

    def close(self) -> None:  # noqa: B027 - most providers have nothing to close
        """Close connections."""


class FileConfigProvider(ConfigProvider):
    """`${file:/etc/connect/db.properties:password}`: a key of a .properties file."""

    def configure(self, params: Mapping[str, str]) -> None:
        self._allowed = _AllowedPaths(params.get("allowed.paths", ""))

    def get(self, path: str, keys: frozenset[str]) -> ProviderData:
        if not path:
            return ProviderData({}, note="it names no file; write ${alias:/path/to/file.properties:key}")
        if not (file := self._allowed.resolve(path)):
            return ProviderData({}, note=self._allowed.refusal(path))
        try:
            found = loads(_content(file, self._allowed), os.fspath(file))
        except PropertiesError as error:
            raise ProviderError(str(error)) from error
        return ProviderData({key: found[key] for key in keys if key in found})

    @property
    def doubt(self) -> tuple[str, str] | None:
        return self._allowed.doubt


class DirectoryConfigProvider(ConfigProvider):
    """`${directory:/run/secrets:db-password}`: the whole content of a file in a directory, final line end included."""

    def configure(self, params: Mapping[str, str]) -> None:
        self._allowed = _AllowedPaths(params.get("allowed.paths", ""))

    def get(self, path: str, keys: frozenset[str]) -> ProviderData:
        if not path:
            return ProviderData({}, note="it names no directory; write ${alias:/path/to/directory:file}")
        if not (directory := self._allowed.resolve(path)):
            return ProviderData({}, note=self._allowed.refusal(path))
        if not stat.S_ISDIR(found := _mode(directory)):
            why = "it is something else" if found else "there is none, or it may not be seen"
            return ProviderData({}, note=f"{path} is not a directory that can be read ({why})")
        values: dict[str, str] = {}
        left = MOST_BYTES
        # Each is looked for by its name: the directory may have any number of others.
        for name in sorted(keys - {"", ".", ".."}):
            if "/" in name or "\0" in name:  # a key is not a path
                continue
            file = self._allowed.resolve(str(directory / name))
            if file and (mode := _mode(file)) and not stat.S_ISDIR(mode):
                content = _content(file, self._allowed, left, shown=f"{path}/{name}")
                left -= len(content)
                try:
                    values[name] = content.decode()
                except UnicodeDecodeError:
                    raise ProviderError(f"{path}/{name}: this is not UTF-8 text") from None
        return ProviderData(values)

    @property
    def doubt(self) -> tuple[str, str] | None:
        return self._allowed.doubt


class EnvVarConfigProvider(ConfigProvider):
    """`${env:DB_PASSWORD}`: an environment variable of the worker, as it was when the worker started."""

    def configure(self, params: Mapping[str, str]) -> None:
        pattern = params.get("allowlist.pattern", ".*")
        try:
            allowed = re.compile(pattern)
        except re.error as error:
            raise ProviderError(
                f"it is not a regular expression ({error}); write e.g. DB_.*", "allowlist.pattern"
            ) from None
        self._unset = "allowlist.pattern" not in params
        self._note = f"it is not set, or allowlist.pattern ({pattern}) does not allow it"
        self._variables = {name: value for name, value in os.environ.items() if allowed.fullmatch(name)}

    def get(self, path: str, keys: frozenset[str]) -> ProviderData:
        if path:
            raise ProviderError(f'an environment variable has no path, but "{path}" is given; write ${{alias:NAME}}')
        found = {key: self._variables[key] for key in keys if key in self._variables}
        return ProviderData(found, note=self._note)

    @property
    def doubt(self) -> tuple[str, str] | None:
        if not self._unset:
            return None
        return "allowlist.pattern", (
            "is not set: who may write a connector can read every environment variable of the worker. "
            "Write which names may be read, such as DB_.*"
        )


class _AllowedPaths:
    """The folders and files that a provider may read; by default everything."""

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._allowed = [Path(os.path.normpath(path)) for path in comma_separated(setting)]
        for path in self._allowed:
            if not path.is_absolute():
                raise ProviderError(f"{path} is not absolute; write the path from / on", "allowed.paths")
            if not path.exists():
                raise ProviderError(f"{path} does not exist; create it or take it out", "allowed.paths")

    def resolve(self, path: str) -> Path | None:
        """The real path to read, or None if it is not allowed, as written or behind its symbolic links.

        Raises:
            ProviderError: no file can have this path.
        """
        if not _is_path(path):
            raise ProviderError(f"a path is text of at most {_LONGEST_PATH} bytes without NUL; write one that exists")
        written = Path(os.path.normpath(path))
        real = Path(os.path.realpath(written))
        if not self._allowed:
            return written
        as_written = any(written.is_relative_to(allowed) for allowed in self._allowed)
        as_real = any(real.is_relative_to(os.path.realpath(allowed)) for allowed in self._allowed)
        return real if as_written and as_real else None

    @property
    def any(self) -> bool:
        """Whether everything may be read."""
        return not self._allowed

    @property
    def doubt(self) -> tuple[str, str] | None:
        """The warning where allowed paths are not set."""
        if not self.any:
            return None
        return "allowed.paths", (
            "is not set: who may write a connector can read every file that the worker can. "
            "Name the folders that may be read."
        )

    def refusal(self, path: str) -> str:
        return f"{path} is, or leads, outside allowed.paths ({self._setting})"


def _mode(path: Path) -> int:
    """The file's type; 0 if it cannot be read."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _is_path(text: str) -> bool:
    try:
        return len(os.fsencode(text)) <= _LONGEST_PATH and "\0" not in text
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _content(file: Path, allowed: _AllowedPaths, most: int = MOST_BYTES, shown: str = "") -> bytes:
    """The bytes of an allowed file."""
    name = shown or os.fspath(file)
    try:
        # Where paths are limited this is the real one: a link would be there only since.
        return read_regular(file, most, follow=allowed.any)
    except TooLargeFileError as error:
        if most == MOST_BYTES:
            raise ProviderError(f"{name}: it {error}") from error
        raise ProviderError(
            f"{name}: with it the files that are asked for in this directory are larger than 1 MiB together; ask for "
            "fewer, or for smaller ones"
        ) from error
    except UnfitFileError as error:
        raise ProviderError(f"{name}: it {error}") from error
    except OSError as error:
        raise ProviderError(unreadable(name, error)) from error


JAVA_PACKAGE = "org.apache.kafka.common.config.provider."
BUILT_IN: dict[str, type[ConfigProvider]] = {
    name: provider
    for provider in (FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider)
    for name in (JAVA_PACKAGE + provider.__name__, provider.__name__, provider.__name__.removesuffix("ConfigProvider"))
}
