"""What connectors have in common. Public: `connectors/` is written with it, and others' connectors may be.

Everything here runs in the process of the connector, or of its task.
"""

from connect.kit.background import BackgroundWriter
from connect.kit.credentials import CredentialsProvider, credentials_provider
from connect.kit.retries import RetryBudget, backoff
from connect.kit.watch import Chore, Watch, shared_out

__all__ = [
    "BackgroundWriter",
    "Chore",
    "CredentialsProvider",
    "RetryBudget",
    "Watch",
    "backoff",
    "credentials_provider",
    "shared_out",
]
