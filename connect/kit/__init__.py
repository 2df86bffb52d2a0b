"""What connectors share. Public: for the connectors of this project and of others.

Everything here runs in the process of the connector, or of its task.
"""

from connect.http import Answer
from connect.kit.answers import json_of
from connect.kit.background import BackgroundWriter
from connect.kit.credentials import CredentialsProvider, credentials_provider
from connect.kit.failures import RestError
from connect.kit.logins import ClientCredentials, HeaderLogin, Login, bearer, user_and_password
from connect.kit.pages import Cursor, LinkHeader, NextUrl, OffsetLimit, OnePage, PageNumber, Pages, value_at
from connect.kit.rates import RateLimit
from connect.kit.rest import Request, RestClient
from connect.kit.retries import RetryBudget, backoff
from connect.kit.watch import Chore, Watch, shared_out

__all__ = [
    "Answer",
    "BackgroundWriter",
    "Chore",
    "ClientCredentials",
    "CredentialsProvider",
    "Cursor",
    "HeaderLogin",
    "LinkHeader",
    "Login",
    "NextUrl",
    "OffsetLimit",
    "OnePage",
    "PageNumber",
    "Pages",
    "RateLimit",
    "Request",
    "RestClient",
    "RestError",
    "RetryBudget",
    "Watch",
    "backoff",
    "bearer",
    "credentials_provider",
    "json_of",
    "shared_out",
    "user_and_password",
    "value_at",
]
