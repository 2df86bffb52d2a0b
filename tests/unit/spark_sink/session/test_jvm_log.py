import io
import logging

import pytest

from spark_sink.session.jvm_log import JvmLog, configuration


def read(text: str, caplog: pytest.LogCaptureFixture) -> JvmLog:
    with caplog.at_level(logging.DEBUG, "spark"):
        log = JvmLog(io.BytesIO(text.encode()), lambda line: line.replace("hush", "[hidden]"))
        log.wait(10)
    return log


def test_a_record_has_its_level_and_its_trace_and_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    log = read("@spark\tERROR\tShop\tit is hush\\nand more\tjava.lang.Error: hush\\r\\n\\tat X.y\n", caplog)

    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "Shop: it is [hidden]\nand more\njava.lang.Error: [hidden]\n\\tat X.y"
    assert log.said() == ["Shop: it is [hidden]\nand more: java.lang.Error: [hidden]"]


def test_other_lines_are_information(caplog: pytest.LogCaptureFixture) -> None:
    read("Error: Could not create the Java Virtual Machine.\n\n", caplog)

    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("INFO", "Error: Could not create the Java Virtual Machine.")
    ]


def test_a_flood_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    read("@spark\tWARN\tX\tagain\t\n" * 500, caplog)

    assert len(caplog.records) == 21
    assert "480 more lines" in caplog.records[-1].getMessage()


def test_a_trace_is_shortened(caplog: pytest.LogCaptureFixture) -> None:
    read(f"@spark\tWARN\tX\tmessage\t{'x' * 100_000}\n", caplog)

    assert len(caplog.records[0].getMessage()) < 3_000


def test_what_nobody_can_change_is_silent() -> None:
    assert "NativeCodeLoader" in configuration()
