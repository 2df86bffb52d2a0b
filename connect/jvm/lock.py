"""Write the file of a jar set: `python -m connect.jvm.lock NAME [group:artifact:version ...]`, for developers.

Maven computes the closure, because only Maven is Maven; the roots are kept in the file, so NAME alone renews it.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from connect.jvm.jars import SUMS

ROOTS = "# roots: "


def main(name: str, roots: list[str]) -> None:
    """Resolve the runtime closure of the roots and write `sums/NAME.txt`."""
    target = SUMS / f"{name}.txt"
    if not roots:
        first = next(line for line in target.read_text(encoding="ascii").splitlines() if line.startswith(ROOTS))
        roots = first.removeprefix(ROOTS).split()
    lines = [
        f"# {name}: a closure that Maven resolved, written by `python -m connect.jvm.lock`",
        ROOTS + " ".join(roots),
    ]
    for coordinate, path in closure(roots):
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {coordinate}")
    target.write_text("\n".join(lines) + "\n", encoding="ascii")
    sys.stdout.write(f"{target}: {len(lines) - 2} jars\n")


def closure(roots: list[str]) -> list[tuple[str, Path]]:
    """The coordinates and files that Maven puts on the runtime class path of these roots."""
    dependencies = ""
    for root in roots:
        group, artifact, version = root.split(":")
        dependencies += (
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version></dependency>"
        )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>set</groupId><artifactId>set</artifactId>"
            f"<version>1</version><dependencies>{dependencies}</dependencies></project>",
            encoding="ascii",
        )
        subprocess.run(
            [
                "mvn",
                "-q",
                "-B",
                "dependency:list",
                "-DincludeScope=runtime",
                "-DoutputAbsoluteArtifactFilename=true",
                "-DoutputFile=list.txt",
            ],
            cwd=folder,
            check=True,
        )
        listed = Path(folder, "list.txt").read_text(encoding="utf-8")
    found = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", listed).splitlines():
        match = re.match(r"\s*([\w.-]+):([\w.-]+):jar:(?:([\w.-]+):)?([\w.-]+):(?:compile|runtime):(/\S+)", line)
        if match:
            group, artifact, classifier, version, path = match.groups()
            found.append((":".join(filter(None, (group, artifact, version, classifier))), Path(path)))
    return sorted(found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
