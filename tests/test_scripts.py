"""What scripts/test says while it gets to its tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from commands import REPOSITORY


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with this script, in which installing and pytest say no more than that it is their turn."""
    for name, says in (("scripts/setup", "setup"), (".venv/bin/pytest", "pytest $*")):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {says} >&2\n")
        program.chmod(0o755)
    shutil.copy(REPOSITORY / "scripts" / "test", tmp_path / "scripts" / "test")
    return tmp_path


def said(checkout: Path, *words: str) -> list[str]:
    done = subprocess.run([checkout / "scripts" / "test", *words], capture_output=True, text=True, check=True)
    return [line for line in done.stderr.splitlines() if " is not installed" not in line]


def test_it_says_at_once_what_it_does_and_then_how_far_it_is(checkout: Path) -> None:
    first, setup, second, pytest_ = said(checkout)
    assert first.startswith("scripts/test: the tools of the tests are installed first")
    assert setup == "setup"
    assert second.startswith("scripts/test: five workers look for the tests, which takes a minute or two")
    assert "-v" in pytest_.split()
    (checkout / ".venv" / "installed-dev").touch()
    assert said(checkout)[0] == "setup"


def test_chosen_tests_are_left_to_pytest(checkout: Path) -> None:
    (checkout / ".venv" / "installed-dev").touch()
    assert said(checkout, "tests/protocol", "-k", "dice") == ["setup", "pytest tests/protocol -k dice"]
