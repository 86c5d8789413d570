"""docs/library.md keeps its word: its programs print what it shows, and the names that it promises are there."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bots
from bots import environments

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs" / "library.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```\n\n^```text\n(.*?)^```$", DOC, re.DOTALL | re.MULTILINE)
PROMISED = {
    module: re.findall(r"`(\w+)`", names) for module, names in re.findall(r"^\| `([\w.]+)` \| (`.*) \|$", DOC, re.M)
}


def test_every_program_of_the_document_says_what_it_prints() -> None:
    assert len(PROGRAMS) == DOC.count("```python") > 5


@pytest.mark.parametrize(("program", "prints"), PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_document_prints_what_is_shown(
    program: str, prints: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(program, "docs/library.md", "exec"), {"__name__": "__main__"})
    assert said.getvalue() == prints


@pytest.mark.parametrize("document", ["README.md", "docs/writing-a-bot.md"])
def test_the_other_documents_play_in_process_too(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = re.findall(r"^```python\n(.*?)^```$", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)
    (program,) = [program for program in programs if "import play\n" in program]
    shutil.copy(ROOT / "docs" / "examples" / "mine.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, document, "exec"), {})
    assert re.match(r"\[[01]\.\d, [01]\.\d\]", capsys.readouterr().out)


@pytest.mark.parametrize("module", PROMISED)
def test_what_is_promised_is_there_and_says_what_it_is(module: str) -> None:
    found: dict[str, Any] = {name: getattr(import_module(module), name) for name in PROMISED[module]}
    assert all(inspect.getdoc(value) for value in found.values())


@pytest.mark.parametrize("package", [bots, environments], ids=["bots", "environments"])
def test_all_that_a_package_offers_is_promised(package: ModuleType) -> None:
    assert sorted(package.__all__) == sorted(PROMISED[package.__name__])
