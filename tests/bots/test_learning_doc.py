"""The programs of docs/reinforcement-learning.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bots.environments import env

DOC = Path(__file__).parents[2] / "docs" / "reinforcement-learning.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", DOC.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_document_runs(program: str) -> None:
    exec(compile(program, DOC, "exec"), {"env": env})  # the second example takes it from the first
