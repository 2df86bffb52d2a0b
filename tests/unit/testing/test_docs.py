"""The page on testing plug-ins is right: its files are written down and their tests pass."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "testing-plugins.md"
_FILE = re.compile(r"<!-- file: (\S+) -->\s*```python\n(.*?)```", re.DOTALL)


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    files = _FILE.findall(PAGE.read_text())
    assert len(files) == 4
    for name, text in files:
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
