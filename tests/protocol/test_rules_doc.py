"""docs/rules.md against the rules: presets, moves and their effects as it states them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from protocol.dice import Dice
from protocol.errors import BadConfig
from protocol.games import NAMES, game_class, load

DOC = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()
SECTIONS = dict(zip(("nim", "grundy", "tictactoe"), re.split(r"^## ", DOC, flags=re.MULTILINE)[2:], strict=True))


def shown(name: str, label: str) -> dict[str, Any]:
    """The example that a section shows behind a bold label."""
    found = re.search(rf"\*\*{label}\*\* `(\{{.*?\}})`", SECTIONS[name])
    assert found is not None
    value: dict[str, Any] = json.loads(found[1])
    return value


@pytest.mark.parametrize("name", NAMES)
def test_the_document_lists_every_preset_of_a_game(name: str) -> None:
    presets = game_class(name).presets
    row = next(line for line in DOC.splitlines() if line.startswith(f"| `{name}` |"))
    assert re.findall(r"`([\w-]+)`", row)[1:] == list(presets)
    rows = re.findall(r"^\| `([\w-]+)` \| `(\{.*\})` \|$", SECTIONS[name], re.MULTILINE)
    listed = {preset: json.loads(config) for preset, config in rows} or {"classic": {}}
    assert listed == presets


@pytest.mark.parametrize("name", NAMES)
def test_the_document_lists_every_config_key_with_its_default(name: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]*\| `([^`]*)` \|", SECTIONS[name], re.MULTILINE)
    assert {key: json.loads(default) for key, default in rows} == load(name).config


@pytest.mark.parametrize(("name", "leaves"), [("nim", [3, 1, 7]), ("grundy", [3, 4]), ("tictactoe", None)])
def test_the_documents_state_and_move_are_as_it_says(name: str, leaves: list[int] | None) -> None:
    game = load(name)
    state = game.decode_state(shown(name, "State"))
    assert json.loads(json.dumps(game.encode_state(state))) == shown(name, "State")
    move = game.decode_move(shown(name, "Move"))
    if leaves is not None:
        after, _ = game.apply(state, move, Dice(b"", 0))
        assert list(game.encode_state(after)["heaps"]) == leaves
        assert str(leaves) in SECTIONS[name]


def test_one_heap_has_no_lost_position_to_deal_unless_takes_are_limited() -> None:
    with pytest.raises(BadConfig):
        load("nim", {"heaps": 9, "start": "p-position"})
    assert load("nim", {"heaps": 9, "take": [1, 2], "start": "p-position"}).config["heaps"] == [9]
