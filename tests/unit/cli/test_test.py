"""`connect test`: files of cases, what is told of them, and the exit codes."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from connect.cli import main
from connect.cli.completion import FILES, candidates

PLUGIN = """
from connect import Predicate, Transformation


class Whole(Transformation):
    def apply(self, record):
        return record.replace(value={**record.value, "id": int(record.value["id"])})


class Once(Transformation):
    def __init__(self):
        self.seen = set()

    def apply(self, record):
        if record.key in self.seen:
            return None
        self.seen.add(record.key)
        return record


class Tombstone(Predicate):
    def test(self, record):
        return record.value is None
"""
CONFIG = """
  connector.class: FileStreamSink
  topics: orders
  key.converter: StringConverter
  value.converter: JsonConverter
  value.converter.schemas.enable: false
  transforms: once,whole
  transforms.once.type: steps_of_test.Once
  transforms.whole.type: steps_of_test.Whole
  transforms.whole.predicate: tombstone
  transforms.whole.negate: true
  predicates: tombstone
  predicates.tombstone.type: steps_of_test.Tombstone
"""
GOOD = f"""\
worker: {{plugin.path: plugins}}
config: {CONFIG}
cases:
  - name: the id becomes a number
    records: {{key: k1, value: {{id: "5"}}}}
    expected: {{key: k1, value: {{id: 5}}, topic: orders}}
  - name: the second of a key is dropped
    records:
      - {{key: k1, value: {{id: "5"}}}}
      - {{key: k1, value: {{id: "6"}}}}
      - {{key: k2}}
    expected:
      - {{value: {{id: 5}}}}
      - {{dropped: once}}
      - {{value: null}}
  - name: what is not a number is refused
    records: {{key: k1, value: {{id: x}}}}
    error: {{stage: TRANSFORMATION, class: ValueError, message: invalid literal}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to be in, with a plug-in and a file of cases that are right."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "steps_of_test", raising=False)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "steps_of_test.py").write_text(PLUGIN)
    (tmp_path / "good.yaml").write_text(GOOD)
    return tmp_path


def test_cases_that_hold_are_told_in_a_line_each(folder, capsys):
    assert main(["test", "good.yaml"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "good.yaml\n"
        "  ok      the id becomes a number\n"
        "  ok      the second of a key is dropped\n"
        "  ok      what is not a number is refused\n"
        "3 passed in "
    )


def test_a_case_that_fails_says_where_and_how(folder, capsys):
    wrong = GOOD.replace("value: {id: 5}, topic: orders", "value: {id: 6}, topic: other").replace(
        "dropped: once", "key: 1"
    )
    (folder / "wrong.yaml").write_text(wrong)
    assert main(["test", "wrong.yaml"]) == 1
    lines = wrong.splitlines()
    first, second = lines.index("  - name: the id becomes a number") + 1, lines.index("      - {key: 1}") + 1
    assert capsys.readouterr().out.startswith(
        "wrong.yaml\n"
        f"  FAILED  the id becomes a number  (wrong.yaml:{first})\n"
        f'          wrong.yaml:{first + 2}: topic: expected "other", got "orders"\n'
        f"          wrong.yaml:{first + 2}: value.id: expected 6, got 5\n"
        f"  FAILED  the second of a key is dropped  (wrong.yaml:{first + 3})\n"
        f"          wrong.yaml:{second}: record 2: expected it to be kept, "
        "got it dropped by transformation once (Once)\n"
        "  ok      what is not a number is refused\n"
        "2 failed, 1 passed in "
    )


def test_each_case_has_a_chain_of_its_own(folder):
    (folder / "one.yaml").write_text(GOOD.replace("k2", "k1"))  # now its third record is a second of k1 as well
    assert main(["test", "one.yaml", "-k", "second"]) == 1
    assert main(["test", "good.yaml", "good.yaml"]) == 0


def test_only_what_is_asked_for_is_run(folder, capsys):
    assert main(["test", "good.yaml", "-k", "SECOND"]) == 0
    assert "1 passed" in capsys.readouterr().out
    assert main(["test", "good.yaml", "-k", "nothing like it"]) == 1
    assert capsys.readouterr().out == "no case was run: none has 'nothing like it' in its name\n"
    (folder / "values").mkdir()
    assert main(["test", "values"]) == 1
    assert capsys.readouterr().out == "no case was run: no *.test.yaml in values\n"


def test_programs_get_json_and_ci_gets_xml(folder, capsys):
    (folder / "wrong.yaml").write_text(GOOD.replace("value: {id: 5}, topic", 'value: {id: "\\x01"}, topic'))
    assert main(["test", "wrong.yaml", "good.yaml", "--json", "--junit", "out/report.xml"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["failed"], told["errors"]) == (5, 1, [])
    first = told["cases"][0]
    assert (first["file"], first["outcome"], first["name"]) == ("wrong.yaml", "failed", "the id becomes a number")
    assert first["problems"] == [{"line": first["line"] + 2, "message": 'value.id: expected "\\u0001", got 5'}]
    suites = ElementTree.parse(folder / "out" / "report.xml").getroot()
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("wrong.yaml", "3", "1"),
        ("good.yaml", "3", "0"),
    ]
    failure = suites.find("testsuite/testcase/failure")
    assert failure.text == failure.get("message") == 'value.id: expected "\\u0001", got 5'


def test_the_configuration_may_be_the_file_that_is_deployed(folder):
    keys = dict(line.strip().split(": ") for line in CONFIG.strip().splitlines())
    (folder / "orders.json").write_text(json.dumps({"name": "orders", "config": keys}))
    (folder / "worker.properties").write_text("plugin.path=plugins\n")
    cases = GOOD.partition("cases:")[2]
    (folder / "cases.yaml").write_text(f"worker: worker.properties\nconfig: orders.json\ncases:{cases}")
    assert main(["test", "cases.yaml"]) == 0
    (folder / "cases.yaml").write_text(f"config: orders.json\ncases:{cases}")
    assert main(["test", "cases.yaml", "--worker-config", "worker.properties"]) == 0


def test_plug_ins_of_the_workers_file_are_where_try_and_the_worker_find_them(folder, capsys):
    (folder / "worker.properties").write_text("plugin.path=plugins\n")
    (folder / "cases").mkdir()
    (folder / "cases" / "good.yaml").write_text(GOOD.partition("\n")[2])
    words = ["test", "cases/good.yaml", "--worker-config", "worker.properties"]
    assert main(words) == 0, capsys.readouterr()


def test_a_case_may_change_keys_of_the_configuration(folder, capsys):
    more = GOOD.replace("    error:", "    config: {transforms: }\n    expected: {value: {id: x}}\n    nothing:", 1)
    (folder / "more.yaml").write_text(
        more.replace("\n    nothing: {stage: TRANSFORMATION, class: ValueError, message: invalid literal}", "")
    )
    assert main(["test", "more.yaml"]) == 0, capsys.readouterr()


def test_null_in_a_case_unsets_a_key(folder, capsys):
    unset = "{transforms: null, transforms.whole.type: ~, predicates: null}"
    (folder / "more.yaml").write_text(
        f"{GOOD.partition('cases:')[0]}cases:\n"
        f"  - config: {unset}\n    records: {{key: k, value: {{id: x}}}}\n    expected: {{value: {{id: x}}}}\n"
    )
    assert main(["test", "more.yaml"]) == 0, capsys.readouterr()


def test_partly_for_a_file_for_a_case_and_for_one_expectation(folder):
    cases = """\
worker: {{plugin.path: plugins}}
config: {config}
match: partial
cases:
  - name: of the file
    records: {{key: k, value: {{id: "5", more: 1}}}}
    expected: {{value: {{id: 5}}}}
  - name: of the case
    match: {of_case}
    records: {{key: k, value: {{id: "5", more: 1}}}}
    expected: {{value: {{id: 5}}}}
  - name: of the expectation
    match: exact
    records: {{key: k, value: {{id: "5", more: 1}}}}
    expected: {{match: {of_one}, value: {{id: 5}}}}
"""
    (folder / "a.yaml").write_text(cases.format(config=CONFIG, of_case="partial", of_one="partial"))
    assert main(["test", "a.yaml"]) == 0
    (folder / "a.yaml").write_text(cases.format(config=CONFIG, of_case="exact", of_one="exact"))
    assert main(["test", "a.yaml", "-k", "of the file"]) == 0
    assert main(["test", "a.yaml", "-k", "of the case"]) == 1
    assert main(["test", "a.yaml", "-k", "of the expectation"]) == 1


def test_a_source_is_tested_to_its_bytes(folder):
    (folder / "source.yaml").write_text("""\
kind: source
config:
  key.converter: StringConverter
  value.converter: JsonConverter
  topic: out
cases:
  - name: bytes
    records:
      key: k
      value: {schema: {type: struct, fields: [{field: id, type: int32}]}, payload: {id: 5}}
      headers: [[a, 1], [a, 2]]
    expected:
      topic: out
      key: {base64: aw==}
      value:
        text: >-
          {"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],"optional":false},"payload":{"id":5}}
      headers: [[a, 1], [a, "2"]]
  - name: what the bytes mean
    records: {value: {schema: {type: int32}, payload: 5}}
    expected: {match: partial, value: {payload: 5}}
""")
    assert main(["test", "source.yaml"]) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("cases:", "casess:"), 'a.yaml:16: "casess" is not known in a file of cases'),
        (("config: ", "match: exact\nx: "), '"x" is not known'),
        (("    records: {key: k1, value: {id: x}}", "    record: 5"), '"record" is not known in a case'),
        (("expected: {key: k1", "expected: {kee: k1"), 'a.yaml:19: "kee" is not known here'),
        (("      - {value: null}\n", ""), "a.yaml:25: there are 3 records and 2 expectations"),
        (("    error: {stage", "    dropped: true\n    error: {stage"), "say what is expected: one of"),
        (("message: invalid literal", "message: ("), "message is not a regular expression"),
        (("key: k2}", "keys: k2}"), "a.yaml:24: keys: is not a field of a record"),
        (("once.type: steps_of_test.Once", "once.type: Nonsense"), 'a.yaml:9: There is no transformation "Nonsense"'),
        (("transforms.whole.predicate: tombstone", "transforms.whole.predicate: x"), "a.yaml:11: "),
        (("worker: {plugin.path: plugins}", "worker: nowhere.properties"), "a.yaml:1: nowhere.properties: there is no"),
        (("  topics: orders", "  topics: [orders]"), "a.yaml:4: the value of a configuration's key is text"),
        (("  topics: orders", "  topics: orders\n  topics: more"), 'a.yaml:5: "topics" stands on line 4 too'),
        (("config: ", "match: part\nconfig: "), "match is exact or partial"),
        (("config: ", "kind: both\nconfig: "), "kind is sink or source"),
    ],
)
def test_a_wrong_file_is_said_with_its_line(folder, capsys, change, said):
    text = GOOD.replace(*change)
    assert text != GOOD
    (folder / "a.yaml").write_text(text)
    assert main(["test", "a.yaml"]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.startswith("connect: a.yaml:")
    assert shown.count("\n") == 1


def test_all_wrong_files_are_told_and_nothing_runs(folder, capsys):
    (folder / "a.yaml").write_text("cases: []\n")
    (folder / "b.yaml").write_text("config: {}\ncases: []\n")
    assert main(["test", "a.yaml", "good.yaml", "b.yaml", "nowhere.yaml"]) == 2
    shown = capsys.readouterr()
    assert [line.partition(": ")[2] for line in shown.err.splitlines()] == [
        'a.yaml:1: "config" is missing. A file of cases has a config and cases.',
        "b.yaml:2: cases are a list with at least one.",
        "nowhere.yaml: no such file or directory.",
    ]
    assert "ok" not in shown.out
    assert main(["test", "a.yaml", "--junit", "report.xml"]) == 2
    (suite,) = ElementTree.parse(folder / "report.xml").getroot()
    assert (suite.get("name"), suite.get("failures")) == ("a.yaml", "1")


def test_where_pyyaml_is_not_installed_it_is_said(folder):
    code = "import sys; sys.modules['yaml'] = None\nfrom connect.cli import main\nsys.exit(main(['test', 'good.yaml']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'connect-runtime[test]'" in done.stderr


def test_its_files_are_completed():
    assert candidates(["test", ""]) == [FILES]
    assert candidates(["test", "a.yaml", ""]) == [FILES]
    assert candidates(["test", "--junit", ""]) == [FILES]
