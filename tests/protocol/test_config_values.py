"""Config values on command lines: what words are read as."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.config_values import read_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("true", True),
        ("null", None),
        ("[3,5]", [3, 5]),
        ("3,5,7", [3, 5, 7]),
        ("[3,5],[1]", [[3, 5], [1]]),
        ('{"a": [1, 2]}', {"a": [1, 2]}),
        ("africa", "africa"),
        ('"africa"', "africa"),
        ("one,2", ["one", 2]),
        ("a,@b", ["a", "@b"]),
        ("", ""),
        ("9" * 5000, "9" * 5000),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_json_or_a_list_or_a_word(text: str, value: Any) -> None:
    assert read_text(text) == value
