"""What searches of Risk and solvers of poker find compiled, plain Python finds, too."""

from __future__ import annotations

from typing import Any

from plain_answers import answers


def test_plain_python_finds_the_same_to_the_bit(without_numba: Any) -> None:
    assert without_numba(answers) == answers()
