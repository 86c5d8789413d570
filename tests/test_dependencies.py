"""What is installed is what was tested: the locks hold every dependency, in an allowed version, with its hashes."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from machine.source_digest import PACKAGES

ROOT = Path(__file__).parent.parent
PINNED = re.compile(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==(\S+)(?: ; .*)? \\$")


def locked(name: str) -> dict[str, list[str]]:
    """The versions of each package in a lock file, by platform and Python more than one, and that each has hashes."""
    versions: dict[str, list[str]] = {}
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    for line, following in itertools.pairwise(lines):
        found = PINNED.match(line)
        if found:
            versions.setdefault(found[1], []).append(found[2])
            assert following.strip().startswith("--hash=sha256:"), line
        else:
            assert line.startswith(("#", "    #", "    --hash=sha256:")), line
    return versions


@pytest.mark.parametrize("lock", ["run.lock", "image.lock", "dev.lock", "build.lock"])
def test_a_lock_has_every_dependency_in_a_version_that_is_allowed(lock: str) -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = content["project"]
    extras = project["optional-dependencies"]
    wanted = {
        "run.lock": project["dependencies"],
        "image.lock": [*project["dependencies"], *extras["postgres"], *extras["metrics"]],
        "dev.lock": [*project["dependencies"], *extras["dev"]],
        "build.lock": content["build-system"]["requires"],
    }[lock]
    versions = locked(lock)
    for requirement in map(Requirement, wanted):
        found = versions.get(requirement.name.lower(), [])
        assert found, f"{requirement.name} is not in requirements/{lock}: run scripts/lock"
        assert all(requirement.specifier.contains(version) for version in found), f"{requirement}: run scripts/lock"


def test_what_is_tested_is_what_runs() -> None:
    run, image, dev = locked("run.lock"), locked("image.lock"), locked("dev.lock")
    assert {name: dev.get(name) for name in run} == run
    assert {name: dev.get(name) for name in image} == image


def test_the_image_gets_nothing_that_no_lock_has_the_hash_of() -> None:
    commands = re.findall(
        r"/pip .*?\b(?:install|wheel) (.*?)(?: \\)?$", (ROOT / "Dockerfile").read_text(), re.MULTILINE
    )
    hashed = [re.search(r"--require-hashes --requirement (\S+)$", words) for words in commands]
    assert [found and found[1] for found in hashed] == ["build.lock", "image.lock", None, None]
    assert all("--no-build-isolation --no-deps" in words for words in commands[1:3])
    assert "--no-index --no-deps" in commands[3]


def test_an_audit_that_could_look_nothing_up_fails_where_it_is_required(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    codes = []
    for required in ({}, {"AUDIT_REQUIRED": ""}, {"AUDIT_REQUIRED": "1"}):
        environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **required}
        done = subprocess.run([ROOT / "scripts" / "audit"], env=environ, capture_output=True, text=True)
        assert done.stderr == "scripts/audit: no database of vulnerabilities can be reached: nothing was looked up\n"
        codes.append(done.returncode)
    assert codes == [0, 0, 1]


def test_tools_name_the_packages_that_there_are() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    (siblings,) = [one for one in tools["importlinter"]["contracts"] if one["type"] == "acyclic_siblings"]
    copied = re.findall(r"^COPY (\w+) \1$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for named in (
        tools["hatch"]["build"]["targets"]["wheel"]["packages"],
        tools["importlinter"]["root_packages"],
        siblings["ancestors"],
        copied,
    ):
        assert named == list(PACKAGES)
    assert set(PACKAGES) <= set(tools["mypy"]["files"])
