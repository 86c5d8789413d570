"""The hypotheses of a test, from the options of a command and their defaults."""

from __future__ import annotations

from measuring.sequential import Hypotheses
from protocol.errors import UsageFault

DEFAULT_H1_SCORE = 0.02
"""The default of h1, in points a game above one half."""


def hypotheses_of(h0: float | None, h1: float | None, unit: str, alpha: float, beta: float) -> Hypotheses:
    """Return the hypotheses from a command's options (None if not given). Raise `UsageFault` if they are invalid."""
    if h1 is None and (unit != "score" or h0 is not None):
        raise UsageFault("--h1 is missing: give both hypotheses, like --h0 0 --h1 0.02")
    return Hypotheses(
        h0=h0 or 0.0,
        h1=DEFAULT_H1_SCORE if h1 is None else h1,
        unit=unit,  # type: ignore[arg-type]  # checked by `Hypotheses`
        alpha=alpha,
        beta=beta,
    )
