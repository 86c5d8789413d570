"""Reads truth values of queries and forms."""

from __future__ import annotations

from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault

TRUTH_VALUES = {"true": True, "false": False}
"""The words for truth values."""


def read_truth(field: str, text: str) -> bool:
    """Return the truth value of a field. Raise `UsageFault` if the text is none."""
    if text not in TRUTH_VALUES:
        raise UsageFault(f"{field} is {short_repr(text)}: {list_choices(TRUTH_VALUES)}")
    return TRUTH_VALUES[text]
