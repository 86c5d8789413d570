"""docs/reinforcement-learning.md keeps its word: its code runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "docs" / "reinforcement-learning.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", DOC.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_code_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert BLOCKS
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, names)
    assert "Egypt" in capsys.readouterr().out, "the board is drawn"
