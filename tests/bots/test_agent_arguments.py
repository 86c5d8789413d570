"""The arguments of tools as language models write them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from bots.agents.lenient_arguments import as_declared, with_numbers
from bots.agents.tools import LookArguments, MoveArguments, SeekMatch


class Nested(Struct):
    at: int
    on: bool


class Given(Struct):
    lists: list[int]
    maps: dict[str, int]
    nested: Nested
    text: str = ""
    number: float = 0.0
    perhaps: int | None = 3


@pytest.mark.parametrize(
    ("kind", "written", "taken"),
    [
        (LookArguments, {"wait_s": "5"}, {"wait_s": 5}),
        (LookArguments, {"wait_s": " 5.0 "}, {"wait_s": 5}),
        (LookArguments, {"wait_s": 5.0}, {"wait_s": 5.0}),
        (LookArguments, {"wait_s": None}, {}),
        (SeekMatch, {"game": "nim", "rated": "true", "slow": "False"}, {"game": "nim", "rated": True, "slow": False}),
        (SeekMatch, {"game": "nim", "preset": None}, {"game": "nim", "preset": None}),
        (MoveArguments, {"move": {"heap": "0"}, "wait_s": "0"}, {"move": {"heap": "0"}, "wait_s": 0}),
        (
            Given,
            {"lists": ["1", 2], "maps": {"a": "3"}, "nested": {"at": "4", "on": "true"}, "number": "0.5"},
            {"lists": [1, 2], "maps": {"a": 3}, "nested": Nested(4, True), "number": 0.5},
        ),
        (Given, {"text": "5", "perhaps": "null"}, {"text": "5", "perhaps": None}),
    ],
)
def test_what_can_be_taken_for_a_value_of_its_type_is(
    kind: type[Struct], written: dict[str, Any], taken: dict[str, Any]
) -> None:
    assert as_declared(written, kind) == taken


@pytest.mark.parametrize("value", ["long", "5.5", "", "0x10", "5" * 5000, "٥", True, [5], {}, float("nan"), "\ud800"])
def test_what_can_not_stays_as_it_came_and_is_refused_then(value: Any) -> None:
    taken = as_declared({"wait_s": value, "colour": value}, LookArguments)
    assert taken["wait_s"] is value
    assert taken["colour"] is value


def test_numbers_in_texts_are_found_at_any_depth() -> None:
    given = {"from": "3", "units": [["1", "-2"], "x"], "do": "attack", "all": True, "none": None}
    assert with_numbers(given) == {"from": 3, "units": [[1, -2], "x"], "do": "attack", "all": True, "none": None}
