"""docs/maps.md and its pictures against the maps, and its example of a map against the games."""

from __future__ import annotations

import random
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from games.risk.commands import read_map
from games.risk.rules.maps import MAP_NAMES, find_map, load_map
from games.risk.rules.text import draw_map
from machine.arguments import read_value
from protocol.dice import Dice
from protocol.errors import BadConfig, UsageFault
from protocol.games import load_game

DOCS = Path(__file__).parents[3] / "docs"
DOC = (DOCS / "maps.md").read_text("utf-8")
EXAMPLE = DOC.partition("```toml\n")[2].partition("```")[0]


@pytest.fixture
def lagoon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, as a file in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("lagoon.toml").write_text(EXAMPLE, "utf-8")
    return Path("lagoon.toml")


def drawer() -> Any:
    """docs/maps/draw.py as a module."""
    spec = spec_from_file_location("draw_maps", DOCS / "maps" / "draw.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", MAP_NAMES)
def test_the_picture_of_a_map_is_what_its_script_draws(name: str) -> None:
    assert (DOCS / "maps" / f"{name}.svg").read_text("utf-8") == drawer().picture(load_map(name))


@pytest.mark.parametrize("name", MAP_NAMES)
def test_the_document_shows_every_map_with_its_size_and_bonuses(name: str) -> None:
    board = load_map(name)
    [row] = re.findall(rf"^\| \[`{name}`\]\(#{name}\) \| (\d+) \| (\d+) \| ([\d, ]+) \|", DOC, re.MULTILINE)
    assert row == (
        str(len(board)),
        str(len(board.borders)),
        ", ".join(str(continent.bonus) for continent in board.continents),
    )
    assert f"](maps/{name}.svg)" in DOC
    assert re.search(rf"^##+ {name}$", DOC, re.MULTILINE | re.IGNORECASE), "what the table links to"


def test_the_document_lists_the_borders_of_the_world() -> None:
    world = load_map("world")
    rows = re.findall(r"^\| (\d+) \| ([\w ]+) \| ([\w ]+) \| ([\w ,]+) \|$", DOC, re.MULTILINE)
    assert rows == [
        (
            str(index),
            place.name,
            world.continents[place.continent].name,
            ", ".join(world.territories[neighbour].name for neighbour in world.neighbours[index]),
        )
        for index, place in enumerate(world.territories)
    ]


@pytest.mark.parametrize("game", ["risk-duel", "risk-campaign"])
def test_a_game_is_played_to_its_end_on_the_documents_map(game: str, lagoon: Path) -> None:
    chooser, key = random.Random(1), bytes(32)
    rules = load_game(game, {"map": read_value(f"@{lagoon}")})
    assert rules.config["map"]["name"] == "lagoon"
    state, _ = rules.initial(Dice(key, 0))
    while rules.to_move(state) is not None:
        state, _ = rules.apply(state, chooser.choice(rules.legal_moves(state)), Dice(key, rules.ply(state)))
    assert min(rules.ranks(state)) == 1
    assert "Lighthouse" in rules.draw_board(state)


def test_the_documents_map_is_drawn_as_it_shows(lagoon: Path) -> None:
    picture = draw_map(read_map(str(lagoon)), [0, 1, 0, 1, -1, 0], [3, 1, 8, 9, 0, 5])
    assert picture.strip("\n") in DOC


IN_THE_FILE = "risk-duel: in 'lagoon.toml': "
CASES = re.findall(r"^\| (?:`(.+)` for|no) `(.+)` \| `(.+)` \|$", DOC, re.MULTILINE)


@pytest.mark.parametrize(("new", "old", "answer"), CASES)
def test_a_mistake_in_the_documents_map_is_answered_as_it_says(new: str, old: str, answer: str, lagoon: Path) -> None:
    assert old in EXAMPLE
    lagoon.write_text(EXAMPLE.replace(old, new, 1))
    with pytest.raises(BadConfig) as refused:
        load_game("risk-duel", {"map": read_value(f"@{lagoon}")})
    assert str(refused.value) == f"{IN_THE_FILE}{answer}"


def test_the_other_mistakes_are_answered_as_the_document_says(lagoon: Path) -> None:
    assert len(CASES) == 11, "those that the test above has found"
    split = EXAMPLE.replace('  ["Harbour", "Ferry"],\n', "").replace('  ["Dunes", "Ferry"],\n', "")
    lagoon.write_text(split)
    with pytest.raises(BadConfig) as refused:
        find_map(read_value(f"@{lagoon}"), "risk-duel")
    assert f"`{str(refused.value).removeprefix(IN_THE_FILE)}`" in DOC
    assert f"`{IN_THE_FILE}…`" in DOC
    with pytest.raises(BadConfig) as refused:
        load_game("risk-duel", {"map": str(lagoon)})
    assert f"`{refused.value}`" in DOC
    lagoon.write_text(EXAMPLE.replace('"lagoon"', "lagoon"))
    with pytest.raises(UsageFault) as unread:
        read_value(f"@{lagoon}")
    assert f"`{unread.value}`" in DOC
    lagoon.unlink()
    with pytest.raises(UsageFault) as unread:
        read_value(f"@{lagoon}")
    assert f"`{unread.value}`" in DOC
