"""docs/reinforcement-learning.md keeps its word: its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOC = Path(__file__).parents[2] / "docs" / "reinforcement-learning.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", DOC.read_text("utf-8"), re.DOTALL | re.MULTILINE)


SMALLER = {"num_envs=1024": "num_envs=4", "range(100)": "range(4)"}
"""The same code with fewer games, and moves of each."""


@pytest.mark.parametrize("changes", [SMALLER, pytest.param({}, marks=pytest.mark.ci, id="as it stands")])
def test_the_code_runs(changes: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert BLOCKS
    code = "".join(BLOCKS)
    assert all(code.count(old) == 2 for old in changes)
    names: dict[str, object] = {}
    for block in BLOCKS:
        for old, new in changes.items():
            block = block.replace(old, new)
        exec(block, names)
    assert "Egypt" in capsys.readouterr().out, "the board is drawn"
