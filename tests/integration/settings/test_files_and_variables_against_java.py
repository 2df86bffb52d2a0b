"""Connector files and variables, against ConnectStandalone and ConfigTransformer of Kafka Connect."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from connect.settings.connector_files import load_connector
from connect.settings.properties import ConfigFileError
from connect.settings.resolver import Resolver
from tests.support.java import JavaProgram

# Answers each argument with a line of JSON: the configuration, or "error".
READ_FILES = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.kafka.connect.cli.ConnectStandalone;
import org.apache.kafka.connect.runtime.rest.entities.CreateConnectorRequest;
public class ReadFiles {
    public static void main(String[] args) throws Exception {
        var parse = ConnectStandalone.class.getDeclaredMethod("parseConnectorConfigurationFile", String.class);
        parse.setAccessible(true);
        for (String file : args) {
            try {
                var request = (CreateConnectorRequest) parse.invoke(new ConnectStandalone(), file);
                var state = request.initialState() == null ? null : request.initialState().name();
                System.out.println(new ObjectMapper().writeValueAsString(Arrays.asList(request.config(), state)));
            } catch (java.lang.reflect.InvocationTargetException refused) {
                System.out.println("\\"error\\"");
            }
        }
    }
}
"""
TRANSFORM = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.kafka.common.config.ConfigTransformer;
import org.apache.kafka.common.config.provider.*;
public class Transform {
    public static void main(String[] args) throws Exception {
        Map<String, ConfigProvider> providers = Map.of(
            "file", new FileConfigProvider(), "dir", new DirectoryConfigProvider(), "env", new EnvVarConfigProvider());
        for (var provider : providers.values())
            provider.configure(Map.of("allowed.paths", args[0], "allowlist.pattern", args[1]));
        for (String value : Arrays.asList(args).subList(2, args.length)) {
            Object answer;
            try {
                answer = List.of(new ConfigTransformer(providers).transform(Map.of("key", value)).data().get("key"));
            } catch (RuntimeException refused) {
                answer = "error";
            }
            System.out.println(new ObjectMapper().writeValueAsString(answer));
        }
    }
}
"""


@pytest.fixture
def java(java_program: Callable[..., JavaProgram]) -> Callable[[str, Sequence[str]], list]:
    def run(program: str, arguments: Sequence[str]) -> list:
        quiet = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
        said = java_program(program, jars=["kafka-connect"], options=quiet).run(*arguments)
        return [json.loads(line) for line in said.splitlines()]

    return run


FILES = [
    '{"name":"x","connector.class":"F","tasks.max":3,"b":true,"f":1.50,"e":1e3}',
    '{"name":"x","config":{"connector.class":"F","tasks.max":3,"b":true,"e":1E3,"big":123456789012345678901234567890}}',
    '{"name":"x","config":{"name":"y","a":"b"}}',
    '{"name":"x","config":{"a":"b"},"initial_state":"PAUSED","tasks":[{"connector":"x","task":0}],"type":"source"}',
    '{"name":"x","config":{"a":"b"},"initial_state":"stopped"}',
    '{"name":"x","config":{"a":"b"},"initialState":"PAUSED"}',
    '{"name":"x","config":{"a":"b"},"initial_state":null}',
    '{"name":"x","config":{"a":"b"},"initial_state":""}',
    '{"name":"x","config":{"a":"b"},"initial_state":1}',
    '{"config":{"name":"x","a":"b"}}',
    '{"connector.class":"F"}',
    '{"name":"x","config":{"a":{"z":1}}}',
    '{"name":"x","config":{"a":["q"]},"a":"b"}',
    '[{"name":"x"}]',
    '{"name":"x" "a":1}',
    '{"name":"x","a":1,"a":2}',
    '// c\n{"name":"x","a":1}',
    '{"name":5,"config":{"name":"5"}}',
    "name=x\na=b",
    '{"name":"x","config":{}}',
    '{"name":"x","config":"{}"}',
    '\ufeff{"name":"x","a":"b"}',
    "a=b",
    "",
    '{"name":"x","a":NaN}',
    '{"name":"x","a":-0.10,"b":01}',
    '{"name":"x","a":-0.10,"b":1.0E+2,"c":0.1e-7}',
    '{"name":"x","a":"","initial_state":"PAUSED"}',
    '{"name":"x","a":"tab\there"}',
    '{"name":"x","a":"\\u00e4\\ud83d\\ude00"}',
    '{"Name":"x","a":"b"}',
    '{"name":"x","a":1,}',
    '{name:"x","a":1}',
]


def test_a_connector_file_reads_as_in_kafka_connect(java, tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate(FILES):
        path = tmp_path / f"{number}.json"
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))

    def ours(path: str) -> object:
        try:
            found = load_connector(path)
        except ConfigFileError:
            return "error"
        return [found.config, found.initial_state]

    theirs = java(READ_FILES, paths)
    assert dict(zip(FILES, map(ours, paths), strict=True)) == dict(zip(FILES, theirs, strict=True))


VALUES = [
    "${file:F/ok/a.properties:k}", "x${file:F/ok/a.properties:k}y${file:F/ok/a.properties:pw}",
    "${file:F/ok/a.properties:nokey}", "${file:F/ok/absent:k}", "${file:F/ok:k}", "${file::k}", "${file:k}",
    "${file:F/ok/bad.properties:q}", "${file:F/ok/../no/b.properties:k}", "${file:F/ok/sub/../a.properties:k}",
    "${file:F/no/b.properties:k}", "${file:F/okother/b.properties:k}", "${file:relative:k}", "${file:F/no/absent:k}",
    "${nope:a:b}", "${nope:b}", "${env:TV}", "${env:OTHER}", "${env:NOT_SET}", "${env:p:TV}", "${env::TV}",
    "${env:TV2}", "${env: TV}", "${ENV:TV}", "$${env:TV}", "${env:${env:TV}}", "${env:a:b:TV}", "${env:TV", "${}",
    "${:}", "${::}", "${a}-${b}", "${dir:F/ok:one}", "${dir:F/ok:.hidden}", "${dir:F/ok:sub}", "${dir:F/absent:one}",
    "${dir:F/ok/one:one}", "${dir:one}", "${dir:F/ok:none}", "${dir:F/ok:binary}", "${dir:F/ok:sub/../one}",
    "${dir:F/ok:}", "${dir:F/no:b.properties}",
]  # fmt: skip


def test_a_variable_becomes_what_it_becomes_in_kafka_connect(java, tmp_path: Path, monkeypatch) -> None:
    for name in ("ok", "ok/sub", "no", "okother"):
        (tmp_path / name).mkdir()
    (tmp_path / "ok/a.properties").write_text("k=v1\npw=s3\n")
    (tmp_path / "ok/bad.properties").write_text("q=\\u12")
    (tmp_path / "ok/one").write_text("line\n")
    (tmp_path / "ok/.hidden").write_text("hid")
    (tmp_path / "ok/binary").write_bytes(b"\xff\xfe")
    (tmp_path / "no/b.properties").write_text("k=outside\n")
    (tmp_path / "okother/b.properties").write_text("k=outside\n")
    monkeypatch.setenv("TV", "tval")
    monkeypatch.setenv("TV2", "${env:TV}")
    monkeypatch.setenv("OTHER", "other")
    worker = {"config.providers": "file,dir,env", "config.providers.env.param.allowlist.pattern": "T.*"}
    for alias, name in (("file", "File"), ("dir", "Directory"), ("env", "EnvVar")):
        worker[f"config.providers.{alias}.class"] = f"org.apache.kafka.common.config.provider.{name}ConfigProvider"
        worker[f"config.providers.{alias}.param.allowed.paths"] = str(tmp_path / "ok")
    resolver = Resolver.from_worker_config(worker)

    def ours(value: str) -> object:
        found = resolver.resolve({"key": value})
        return "error" if any(each.failed for each in found.unresolved) else [found.values["key"]]

    values = [value.replace("F/", f"{tmp_path}{os.sep}") for value in VALUES]
    theirs = java(TRANSFORM, [str(tmp_path / "ok"), "T.*", *values])
    assert dict(zip(VALUES, map(ours, values), strict=True)) == dict(zip(VALUES, theirs, strict=True))
