"""What a store's errors mean: their class, whether they are temporary, and a sentence for people."""

from __future__ import annotations

from typing import Final

from connect.errors import one_line
from connectors.objects.store import (
    CONFLICT,
    CREDENTIALS,
    MALFORMED,
    MISSING,
    OTHER,
    REFUSED,
    THROTTLED,
    TIMEOUT,
    UNREACHABLE,
    Failure,
)
from connectors.s3.bucket.keys import BucketOptions

#: S3's error codes: their class, and whether the same request may succeed later.
_CODES: Final[dict[str, tuple[str, bool]]] = {
    **dict.fromkeys(
        (
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
            "InvalidToken",
            "AuthorizationHeaderMalformed",
            "InvalidClientTokenId",
        ),
        (CREDENTIALS, False),
    ),
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"), (CREDENTIALS, True)),
    "RequestTimeTooSkewed": (REFUSED, False),
    **dict.fromkeys(("NoSuchBucket", "NoSuchKey", "NoSuchVersion", "NotFound", "404"), (MISSING, False)),
    # A missing upload was aborted: the sink begins again.
    "NoSuchUpload": (MISSING, True),
    **dict.fromkeys(
        ("SlowDown", "Throttling", "ThrottlingException", "TooManyRequests", "RequestLimitExceeded", "429"),
        (THROTTLED, True),
    ),
    **dict.fromkeys(("RequestTimeout", "RequestTimeoutException", "408"), (TIMEOUT, True)),
    **dict.fromkeys(("PreconditionFailed", "412"), (CONFLICT, False)),
    **dict.fromkeys(("ConditionalRequestConflict", "OperationAborted", "409"), (CONFLICT, True)),
    **dict.fromkeys(
        (
            "AccessDenied",
            "AllAccessDisabled",
            "AccountProblem",
            "NotSignedUp",
            "InvalidObjectState",
            "QuotaExceeded",
            "403",
        ),
        (REFUSED, False),
    ),
    **dict.fromkeys(("MethodNotAllowed", "NotImplemented", "501"), (REFUSED, False)),
    **dict.fromkeys(
        (
            *("InvalidArgument", "InvalidRequest", "MalformedXML", "InvalidDigest", "BadDigest", "KeyTooLongError"),
            *("InvalidBucketName", "EntityTooLarge", "EntityTooSmall", "InvalidPart", "InvalidPartOrder", "InvalidTag"),
            *("InvalidStorageClass", "PermanentRedirect", "IllegalLocationConstraintException", "400"),
        ),
        (MALFORMED, False),
    ),
    **dict.fromkeys(("InternalError", "ServiceUnavailable", "500", "502", "503", "504"), (UNREACHABLE, True)),
}
_ADVICE: Final = {
    "InvalidAccessKeyId": "Check aws.access.key.id.",
    "InvalidClientTokenId": "Check aws.access.key.id.",
    "SignatureDoesNotMatch": "Check aws.secret.access.key.",
    "InvalidToken": "Check aws.session.token.",
    "ExpiredToken": "Supply fresh credentials, or a role or a provider that renews them.",
    "AuthorizationHeaderMalformed": "Check s3.region.",
    "RequestTimeTooSkewed": "Correct this machine's clock.",
    "NoSuchBucket": "Create the bucket, or check s3.bucket.name.",
    "PermanentRedirect": "Check s3.region.",
    "NotImplemented": "The store does not support this: remove the key that asks for it.",
    "QuotaExceeded": "Free some space, or raise the quota.",
}


def failure(error: BaseException, settings: BucketOptions, doing: str = "", where: str = "") -> Failure:
    """What an error of boto3, or of the network below it, means.

    Args:
        error: the error.
        settings: of the bucket, for its name in the sentence.
        doing: what was tried, such as ``writing topics/t/a.json``.
        where: if it is not in the bucket.
    """
    from botocore import exceptions as core

    tried = f"S3 failed {f'{doing} ' if doing else ''}in {where or settings.where}"
    if isinstance(error, core.ClientError):
        return _answered(error, tried)
    name = type(error).__name__
    if isinstance(error, core.NoCredentialsError | core.PartialCredentialsError | core.CredentialRetrievalError):
        advice = "Set aws.access.key.id and aws.secret.access.key, or provide what boto3 finds by itself."
        return Failure(CREDENTIALS, False, f"{tried}: no credentials were found ({name}). {advice}")
    if isinstance(error, core.ProfileNotFound):
        return Failure(CREDENTIALS, False, f"{tried}: the profile named in aws.profile is not in ~/.aws.")
    if isinstance(error, core.ReadTimeoutError | core.ConnectTimeoutError):
        return Failure(TIMEOUT, True, f"{tried}: no response in time ({name}). Check store.url and the network.")
    if isinstance(error, core.ProxyConnectionError):
        return Failure(UNREACHABLE, True, f"{tried}: the proxy of s3.proxy.url cannot be reached.")
    if isinstance(error, core.SSLError):
        return Failure(
            UNREACHABLE, False, f"{tried}: its certificate is not trusted. Set AWS_CA_BUNDLE, or check store.url."
        )
    if isinstance(error, core.ParamValidationError):
        return Failure(MALFORMED, False, f"{tried}: {_one_line(error)}")
    if isinstance(
        error,
        core.HTTPClientError | core.ConnectionError | core.IncompleteReadError | core.ResponseStreamingError | OSError,
    ):
        return Failure(UNREACHABLE, True, f"{tried}: it cannot be reached ({name}). Check store.url and the network.")
    if type(error).__module__.startswith("urllib3"):
        return Failure(UNREACHABLE, True, f"{tried}: the connection broke ({name}).")
    return Failure(OTHER, False, f"{tried}: {name}: {_one_line(error)}")


def _answered(error: BaseException, tried: str) -> Failure:
    answer = getattr(error, "response", {})
    said = answer.get("Error", {})
    code, status = str(said.get("Code", "")), int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    kind, passing = (
        _CODES.get(code) or _CODES.get(str(status)) or ((UNREACHABLE, True) if status >= 500 else (OTHER, False))
    )
    message = str(said.get("Message", "")).strip().rstrip(".")
    # Other fields of a refusal may repeat the whole signed request; the message is one sentence.
    words = (
        f"{code or status}: {' '.join(message.split())[:200]}" if message and message != code else code or str(status)
    )
    advice = _ADVICE.get(code) or ("Check the permissions of these credentials." if kind == REFUSED else "")
    return Failure(kind, passing, f"{tried}: {words}.{' ' if advice else ''}{advice}")


def _one_line(error: BaseException) -> str:
    return one_line(error)[:300]
