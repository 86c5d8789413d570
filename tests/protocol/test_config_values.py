"""Config values on command lines: what words are read as."""

from __future__ import annotations

import re
from typing import Any

import pytest

from protocol.config_values import parse_value
from protocol.errors import UsageFault


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
        ("a[3", "a[3"),
    ],
)
def test_a_value_is_json_or_a_list_or_a_word(text: str, value: Any) -> None:
    assert parse_value(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[3,3],[0,5]],[[5,0],[1,1]", "Extra data: line 1 column 14"),
        ("[[[3,3],[0,5]],[[5,0],[1,1]]", "Expecting ',' delimiter: line 1 column 29"),
        ('{"a": 1', "Expecting ',' delimiter: line 1 column 8"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_begins_as_json_and_is_none_is_refused_with_the_place(text: str, why: str) -> None:
    with pytest.raises(UsageFault, match=re.escape(f"looks like JSON but is invalid: {why}")):
        parse_value(text)
