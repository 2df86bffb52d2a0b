"""Starts a real Elasticsearch on this machine, from the archive that its project publishes for integration tests.

That build has no `GET /`, no painless, no reindex and no processors of ingest pipelines. It has data streams, but not
their interface (`/_data_stream`): `GET /_resolve/index/<name>` tells of one, and none can be removed.
"""

import zipfile
from pathlib import Path
from typing import ClassVar

from tests.servers.module_info import with_optional
from tests.servers.search_server import SearchServer

#: What its entitlements want of a JDK, to watch over classes that no server loads. Not every Java has them.
_OF_A_JDK = {"jdk.jdi", "jdk.jlink"}


class ElasticsearchServer(SearchServer):
    """See `SearchServer`. Without security unless settings say otherwise."""

    product = "Elasticsearch"
    jar_set = "elasticsearch"
    variable = "ES"
    edition = "-any-java"
    defaults: ClassVar[dict[str, str]] = {"xpack.security.enabled": "false"}

    def _unpack(self, archive: zipfile.ZipFile, folder: Path) -> None:
        super()._unpack(archive, folder)
        (jar,) = folder.glob("*/lib/elasticsearch-entitlement-*.jar")
        whole = jar.rename(jar.with_suffix(".original"))
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(jar, "w") as new:
            for entry in old.infolist():
                content = old.read(entry)
                is_module = entry.filename == "module-info.class"
                new.writestr(entry, with_optional(content, _OF_A_JDK) if is_module else content)
        whole.unlink()
        jar.chmod(0o644)
