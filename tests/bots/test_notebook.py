"""docs/examples/luck.ipynb runs, and prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from timeouts import WITHIN

NOTEBOOK = Path(__file__).parents[2] / "docs" / "examples" / "luck.ipynb"


@pytest.fixture(autouse=True)
def _away_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))


def said(notebook: Any) -> list[str]:
    """What cells printed and what they came to, as text; a bot that takes long to warm up says so on standard error."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [out.get("text") or out.data["text/plain"] for out in outputs if out.get("name") != "stderr"]


def test_what_the_notebook_imports_from_the_project_is_there() -> None:
    code = "\n".join(cell.source for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code")
    imports = re.findall(r"^from (?:bots|measuring).+", code, re.M)
    assert len(imports) == 3
    exec("\n".join(imports), {})


@pytest.mark.nightly
def test_the_notebook_gives_what_it_shows() -> None:
    shown = nbformat.read(NOTEBOOK, 4)
    given = NotebookClient(nbformat.read(NOTEBOOK, 4), timeout=WITHIN, kernel_name="python3").execute()
    assert said(given) == said(shown), "anew: jupyter execute --inplace docs/examples/luck.ipynb"
    pictures = [cell for cell in given.cells for out in cell.get("outputs", ()) if "image/png" in out.get("data", {})]
    assert len(pictures) == 1
