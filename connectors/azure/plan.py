"""What follows from the keys of the sink."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from connectors.azure.keys import AzureBlobSinkOptions
from connectors.objects.sink.key_limits import KeyLimits
from connectors.objects.sink.plan import SinkPlan


class AzureBlobSinkPlan(SinkPlan, AzureBlobSinkOptions):
    """The plan, with the store's keys."""

    reach = ("azblob.", "az.")
    # A path with dots is shortened on its way: without a signature to something else, which may be above topics.dir.
    key_limits = KeyLimits(
        in_utf16=True, dots=False, dots_on_top=False, parts=254, forbidden=re.compile(r"[\x00-\x1f\x7f-\x9f]")
    )

    @property
    def namespace(self) -> str:
        return f"wasbs://{self.container}@{self.account or self._account_told()}.blob.core.windows.net"

    def _account_told(self) -> str:
        """The account that the connection string names; "" if it is none."""
        written = self.connection_string.reveal() if self.connection_string is not None else ""
        told = dict(part.partition("=")[::2] for part in written.split(";"))
        host = urlsplit(told.get("BlobEndpoint", "")).hostname or ""
        return told.get("AccountName") or host.partition(".")[0]
