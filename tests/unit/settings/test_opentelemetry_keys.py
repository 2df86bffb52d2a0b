"""The keys of OpenTelemetry: what is refused, and that no message shows a secret."""

from __future__ import annotations

import pytest

from connect.errors import ConfigError
from connect.settings.opentelemetry_keys import OpenTelemetryOptions

KEY = "telemetry.opentelemetry"


def test_nothing_is_sent_by_default() -> None:
    options = OpenTelemetryOptions.parse({})
    assert not options.metrics
    assert not options.traces
    assert (options.endpoint, options.headers, options.interval, options.batches) == (None, None, None, 0.01)


def test_what_is_written() -> None:
    options = OpenTelemetryOptions.parse(
        {
            KEY: "metrics, traces",
            f"{KEY}.endpoint": "https://collector/otlp",
            f"{KEY}.headers": "Authorization=Basic%20dTpw, x-key = a=b%2Cc,",
            f"{KEY}.interval.ms": "500",
        }
    )
    assert options.metrics
    assert options.traces
    assert options.headers == {"Authorization": "Basic dTpw", "x-key": "a=b,c"}
    assert options.interval == 0.5


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (KEY, "metrics,logs", '"logs" is not one of metrics and traces'),
        (f"{KEY}.endpoint", "collector:4318", "is not the address of a server"),
        (f"{KEY}.endpoint", "grpc://collector:4317", "is not the address of a server"),
        (f"{KEY}.endpoint", "http://us3r:s3cret@collector", "has a login in it"),
        (f"{KEY}.endpoint", "http://collector/?key=s3cret", "has something after"),
        (f"{KEY}.headers", "s3cret", "is not of the form"),
        (f"{KEY}.headers", "x key=s3cret", "is not of the form"),
        (f"{KEY}.headers", "x-key=s3cret%0d%0aHost: other", "is not of the form"),
        (f"{KEY}.interval.ms", "10", "too small"),
        (f"{KEY}.batch.ratio", "1.5", "is not between 0 and 1"),
        (f"{KEY}.batch.ratio", "NaN", "nan is not between"),
    ],
)
def test_what_is_refused(key: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        OpenTelemetryOptions.parse({key: value})
    assert refused.value.key == key
    assert "s3cret" not in str(refused.value)
    assert "us3r" not in str(refused.value)
