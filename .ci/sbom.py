"""Says what is installed with connect-runtime: a bill of materials for it alone and for each extra, and a page.

.ci/sbom.py                  write dist/sbom/*.cdx.json (CycloneDX 1.6) from what is installed here
.ci/sbom.py --page           write the tables of docs/dependencies.md

What is not installed is named, and the exit code is 1: half a bill would be taken for a whole one. The jars that are
fetched at run time are in the bills of the extras that need them, with their sums; their licences where this machine
has the jars.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from connect.jvm.cache import cache_path
from connect.jvm.jars import SUMS, Jar, read_set

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "dependencies.md"
BEGIN, END = "<!-- made by .ci/sbom.py -->", "<!-- end of what is made -->"
OURS = "connect-runtime"
#: The sets of jars that an extra fetches at run time.
JARS = {"broker": ["kafka-broker"], "java": ["kafka-connect", "janino"], "spark": ["delta"]}
#: What developers install is not a part of what is shipped.
NOT_SHIPPED = {"dev", "docs"}
#: Licences as older metadata has them, in the words of SPDX.
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
#: Longer than the name of a licence: some have all of its text there.
_TEXT = 40


@dataclass(frozen=True)
class Package:
    """One that is installed.

    Attributes:
        name: in its normal form.
        needs: names of those that it needs here.
    """

    name: str
    version: str
    licence: str
    summary: str
    needs: tuple[str, ...]


@dataclass
class Bill:
    """What comes with connect-runtime alone, or with one of its extras.

    Attributes:
        extra: its name; "" for none.
        direct: names of what pyproject.toml asks for.
        packages: these, and all that they need.
        jars: what is fetched at run time.
        missing: names of what is not installed here.
    """

    extra: str
    direct: list[str] = field(default_factory=list)
    packages: dict[str, Package] = field(default_factory=dict)
    jars: list[Jar] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)


def project() -> dict[str, list[Requirement]]:
    """What each extra asks for, the extras that it names included; "" is what is always asked for."""
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {"": described["dependencies"], **described["optional-dependencies"]}

    def of(extra: str) -> Iterator[Requirement]:
        for line in asked[extra]:
            requirement = Requirement(line)
            if normal(requirement.name) == OURS:
                for other in requirement.extras:
                    yield from of(other)
            else:
                yield requirement

    return {extra: list(of(extra)) for extra in asked if extra not in NOT_SHIPPED}


def bill(extra: str, asked: Mapping[str, list[Requirement]]) -> Bill:
    """All that comes with an extra, and with connect-runtime itself."""
    made = Bill(extra)
    open_ = [*asked[""], *asked[extra]] if extra else list(asked[""])
    made.direct = list(dict.fromkeys(normal(each.name) for each in open_ if applies(each)))
    needs: dict[str, dict[str, None]] = {}
    seen: set[tuple[str, str]] = set()
    while open_:
        requirement = open_.pop()
        name = normal(requirement.name)
        if not applies(requirement):
            continue
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            made.missing.add(name)
            continue
        for wanted in {"", *requirement.extras}:
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                below = [Requirement(line) for line in installed.requires or []]
                below = [each for each in below if applies(each, wanted)]
                needs.setdefault(name, {}).update(dict.fromkeys(normal(each.name) for each in below))
                open_ += below
    for name, below_it in sorted(needs.items()):
        found = metadata.distribution(name)
        summary = found.metadata.get("Summary") or ""
        made.packages[name] = Package(name, found.version, licence(found), summary, tuple(sorted(below_it)))
    for one in JARS if extra == "all" else [extra]:
        made.jars += [jar for set_ in JARS.get(one, []) for jar in read_set(set_)]
    return made


def applies(requirement: Requirement, extra: str = "") -> bool:
    """Whether a requirement is one on this machine and this Python."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def licence(installed: metadata.Distribution) -> str:
    """The licence that a package's metadata names, in the words of SPDX where it is one of a few."""
    said = installed.metadata
    if expression := said.get("License-Expression"):
        return expression
    classifiers = [line.split(" :: ")[-1] for line in said.get_all("Classifier") or [] if line.startswith("License ::")]
    line = (said.get("License") or "").strip()
    if line and len(line) <= _TEXT and "\n" not in line and line != "Dual License":
        return SPDX.get(line, line)
    return " OR ".join(SPDX.get(each, each) for each in classifiers) or "not said"


@cache
def licence_of_jar(jar: Jar) -> str:
    """What a jar says of its licence, where this machine has it."""
    path = cache_path("jars") / jar.group / jar.name
    if not zipfile.is_zipfile(path):
        return ""
    with zipfile.ZipFile(path) as opened:
        manifest = opened.read("META-INF/MANIFEST.MF").decode() if "META-INF/MANIFEST.MF" in opened.namelist() else ""
        poms = [name for name in opened.namelist() if name.endswith(f"/{jar.artifact}/pom.xml")]
        pom = opened.read(poms[0]).decode("utf-8", "replace") if poms else ""
        texts = [name for name in opened.namelist() if re.fullmatch(r"(META-INF/)?LICENSE(\.txt)?", name)]
        text = opened.read(texts[0])[:400].decode("utf-8", "replace") if texts else ""
    found = re.search(r"<license>\s*<name>([^<]+)</name>", pom)
    said = re.search(r"^Bundle-License: *([^;\r\n]+)", manifest.replace("\r\n ", "").replace("\n ", ""), re.MULTILINE)
    name = found[1] if found else said[1] if said else " ".join(text.split())[:100] if "Apache License" in text else ""
    return "Apache-2.0" if re.search(r"apache.*2\.0", name, re.IGNORECASE) else " ".join(name.split()).strip('"')


def normal(name: str) -> str:
    """The name of a package as indices have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def cyclonedx(made: Bill) -> str:
    """A bill in CycloneDX's JSON."""
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from cyclonedx.output import make_outputter
    from cyclonedx.schema import OutputFormat, SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from packageurl import PackageURL

    licences = LicenseFactory()

    def named(text: str) -> list[object]:
        return [licences.make_from_string(text)] if text and text != "not said" else []

    name = f"{OURS}[{made.extra}]" if made.extra else OURS
    version = metadata.version(OURS)
    ours = Component(
        name=OURS,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=name,
        purl=PackageURL("pypi", None, OURS, version),
        licenses=named("Apache-2.0"),
        description=f"with the extra {made.extra}" if made.extra else None,
    )
    bom = Bom()
    bom.metadata.component = ours
    packages = {
        each.name: Component(
            name=each.name,
            version=each.version,
            type=ComponentType.LIBRARY,
            bom_ref=f"pypi:{each.name}",
            purl=PackageURL("pypi", None, each.name, each.version),
            licenses=named(each.licence),
            description=each.summary or None,
        )
        for each in made.packages.values()
    }
    jars = [
        Component(
            group=jar.group,
            name=jar.artifact,
            version=jar.version,
            type=ComponentType.LIBRARY,
            bom_ref=f"maven:{jar.group}:{jar.artifact}:{jar.version}:{jar.classifier}",
            purl=PackageURL("maven", jar.group, jar.artifact, jar.version, {"type": jar.extension, **_classifier(jar)}),
            licenses=named(licence_of_jar(jar)),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=jar.sha256)],
            scope=ComponentScope.REQUIRED,
            description="fetched at run time",
        )
        for jar in made.jars
    ]
    for one in (*packages.values(), *jars):
        bom.components.add(one)
    bom.register_dependency(ours, [*(packages[each] for each in made.direct if each in packages), *jars])
    for each in made.packages.values():
        bom.register_dependency(packages[each.name], [packages[below] for below in each.needs if below in packages])
    text = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)
    if (error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)) is not None:
        raise ValueError(f"the bill of {name} is not a CycloneDX: {error}")
    return text


def _classifier(jar: Jar) -> dict[str, str]:
    return {"classifier": jar.classifier} if jar.classifier else {}


def tables(bills: Iterable[Bill]) -> str:
    """What each extra asks for with its licence, what comes with that, and the jars. No versions: they change."""
    lines: list[str] = []
    base: set[str] = set()
    for made in bills:
        if made.extra == "all":
            continue
        lines += [f"## {f'Extra `{made.extra}`' if made.extra else 'Always'}", ""]
        direct = [name for name in made.direct if name not in base]
        others = [name for name in made.packages if name not in made.direct and name not in base]
        if not made.extra:
            base = set(made.packages)
        lines += ["| package | licence | what it is |", "|---|---|---|"] if direct else ["Nothing more.", ""]
        lines += [
            f"| {name} | {made.packages[name].licence} | {_cell(made.packages[name].summary)} |" for name in direct
        ]
        lines += [""] if direct else []
        if others:
            lines += [
                "With them come " + ", ".join(f"{name} ({made.packages[name].licence})" for name in others) + ".",
                "",
            ]
        for set_ in JARS.get(made.extra, []):
            path = (SUMS / f"{set_}.txt").relative_to(ROOT)
            lines += [f"At run time the jars of [{set_}](../{path}) are fetched, and checked against their sums.", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split()).rstrip(".")


def with_tables(page: str, made: str) -> str:
    """A page with these tables in the place of those that it has."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{made}\n{END}{after}"


def main() -> int:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write the tables of docs/dependencies.md instead")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist" / "sbom", help="for the bills (default dist/sbom)")
    options = parser.parse_args()
    asked = project()
    bills = [bill(extra, asked) for extra in asked]
    missing = sorted({name for made in bills for name in made.missing})
    if missing:
        print(f"not installed here, so nothing is written: {', '.join(missing)}", file=sys.stderr)
        return 1
    if options.page:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables(bills)), encoding="utf-8")
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    for made in bills:
        name = f"{OURS}-{made.extra}" if made.extra else OURS
        path = options.folder / f"{name}.cdx.json"
        path.write_text(cyclonedx(made) + "\n", encoding="utf-8")
        print(f"{path}: {len(made.packages)} packages, {len(made.jars)} jars")
    return 0


if __name__ == "__main__":
    sys.exit(main())
