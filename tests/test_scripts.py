"""What scripts/test says and runs, in a checkout in which installing and pytest only say that it is their turn."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from commands import REPOSITORY


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, says in (("scripts/setup", "setup $*"), (".venv-dev/bin/pytest", "pytest $*")):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {says} >&2\n")
        program.chmod(0o755)
    shutil.copy(REPOSITORY / "scripts" / "test", tmp_path / "scripts" / "test")
    return tmp_path


def said(checkout: Path, *words: str, path: str = os.environ["PATH"]) -> list[str]:
    command, environ = [checkout / "scripts" / "test", *words], {**os.environ, "PATH": path}
    environ.pop("CI", None)
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stderr.splitlines()


def test_all_tests_run_in_workers_in_an_order_whose_seed_is_said_first(checkout: Path) -> None:
    (checkout / ".venv-dev" / "installed").touch()
    first, *_, setup, _, pytest_ = said(checkout, "--seed", "77")
    assert first == "scripts/test: all tests in the order of seed 77; the same order again: scripts/test --seed 77"
    assert setup == "setup dev"
    assert pytest_.startswith("pytest --randomly-seed=77 --workers")


def test_another_python_has_an_environment_of_its_own_and_is_part_of_the_command_that_repeats(checkout: Path) -> None:
    shutil.copytree(checkout / ".venv-dev", checkout / ".venv-dev-3.12")
    first, *_, setup, _, _ = said(checkout, "--python", "3.12", "--seed", "77")
    assert first.endswith("the same order again: scripts/test --python 3.12 --seed 77")
    assert setup == "setup dev 3.12"


def test_two_runs_have_two_orders(checkout: Path) -> None:
    assert said(checkout)[0] != said(checkout)[0]


def test_chosen_tests_are_left_to_pytest(checkout: Path) -> None:
    (checkout / ".venv-dev" / "installed").touch()
    last = said(checkout, "--seed", "77", "tests/protocol", "-k", "dice")[-1]
    assert last == "pytest --randomly-seed=77 tests/protocol -k dice"


def test_what_is_not_installed_is_named_with_what_is_skipped_and_so_is_the_first_installation(
    checkout: Path, tmp_path: Path
) -> None:
    few = tmp_path / "bin"
    few.mkdir()
    for name in ("bash", "dirname", "sh"):
        (few / name).symlink_to(str(shutil.which(name)))
    lines = said(checkout, path=str(few))
    expected = "not installed: Node, so these tests are skipped: the JavaScript of the pages and bots in JavaScript; "
    assert f"scripts/test: {expected}on Debian: apt-get install nodejs" in lines
    assert any("installed into .venv-dev first" in line for line in lines)
