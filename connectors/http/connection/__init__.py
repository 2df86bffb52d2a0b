"""What source and sink have in common: how a server is reached, and who asks."""

from connectors.http.connection.client import made_client
from connectors.http.connection.keys import ServerOptions, web_address

__all__ = ["ServerOptions", "made_client", "web_address"]
