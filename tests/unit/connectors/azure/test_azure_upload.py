"""Uploads to Azure's storage that others interfere with."""

from types import SimpleNamespace
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from connectors.azure.store import AzureUpload
from connectors.objects.store import Conflict, Lost, RequestTimes


class Blob:
    """Has no block that it is asked about; and a blob, if it is described."""

    blob_name = "k"

    def __init__(self, metadata: dict[str, str] | None) -> None:
        self._metadata = metadata

    def stage_block(self, *_: Any, **__: Any) -> None: ...

    def commit_block_list(self, *_: Any, **__: Any) -> None:
        error: Any = HttpResponseError("no such block")
        error.error_code = "InvalidBlockList"
        raise error

    def get_blob_properties(self) -> Any:
        if self._metadata is None:
            raise ResourceNotFoundError
        return SimpleNamespace(metadata=self._metadata)


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    ("metadata", "conditional", "raised"),
    [
        (None, True, Lost),
        ({"connect_last_offset": "7"}, True, Conflict),
        ({"connect_last_offset": "9"}, True, None),
        ({"connect_last_offset": "7"}, False, Lost),
    ],
)
def test_blocks_that_are_gone_are_lost_unless_another_task_has_written_the_blob(
    metadata: dict[str, str] | None, conditional: bool, raised: type[Exception] | None
) -> None:
    upload = AzureUpload(
        Blob(metadata), RequestTimes(), "container c", "text/plain", 0, "rules", "t", conditional=conditional
    )
    upload.part(b"x")
    if raised is None:
        upload.complete(9, 10)
        return
    with pytest.raises(raised):
        upload.complete(9, 10)
