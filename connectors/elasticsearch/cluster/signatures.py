"""Signatures of requests to Amazon's service (SigV4), with the keys of the configuration, of this machine or of a role.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from connect import ConnectError
from connectors.elasticsearch.cluster.failures import missing_package
from connectors.elasticsearch.cluster.keys import OpenSearchOptions


def signer(options: OpenSearchOptions) -> Any:
    """The value of opensearch-py's `http_auth`.

    Raises:
        ConnectError: boto3 is missing, or finds no keys on this machine.
    """
    try:
        import boto3
        from opensearchpy import Urllib3AWSV4SignerAuth
    except ImportError as error:
        raise ConnectError(missing_package("boto3", "s3")) from error
    secret = options.aws_secret_access_key
    session = boto3.Session(
        aws_access_key_id=options.aws_access_key_id,
        aws_secret_access_key=secret.reveal() if secret else None,
        region_name=options.aws_region,
    )
    credentials = _of_role(session, options) if options.role else session.get_credentials()
    if credentials is None:
        raise ConnectError("There are no AWS credentials on this machine. Set aws.access_key_id, or a profile's.")
    return Urllib3AWSV4SignerAuth(credentials, options.aws_region, options.aws_service or "es")


def _of_role(session: Any, options: OpenSearchOptions) -> Any:
    """Credentials of a role, which are renewed before they end."""
    from botocore.config import Config
    from botocore.credentials import RefreshableCredentials

    proxy = options.proxy
    if proxy and options.proxy_user:
        user, password = (quote(part, safe="") for part in options.proxy_user)
        proxy = proxy.replace("://", f"://{user}:{password}@")
    through = Config(proxies={"http": proxy, "https": proxy} if proxy else None)

    def renew() -> dict[str, str]:
        more = {"ExternalId": options.role_external_id} if options.role_external_id else {}
        taken = session.client("sts", config=through).assume_role(
            RoleArn=options.role,
            RoleSessionName=options.role_session or "connect",
            DurationSeconds=options.role_seconds,
            **more,
        )["Credentials"]
        return {
            "access_key": taken["AccessKeyId"],
            "secret_key": taken["SecretAccessKey"],
            "token": taken["SessionToken"],
            "expiry_time": taken["Expiration"].isoformat(),
        }

    return RefreshableCredentials.create_from_metadata(metadata=renew(), refresh_using=renew, method="sts-assume-role")
