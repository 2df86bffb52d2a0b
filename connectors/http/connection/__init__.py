"""What source and sink share: how a server is reached, and the login."""

from connectors.http.connection.client import made_client
from connectors.http.connection.keys import ServerOptions, web_address

__all__ = ["ServerOptions", "made_client", "web_address"]
