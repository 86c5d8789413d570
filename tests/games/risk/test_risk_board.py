"""The maps that come along, against the classic board; what is no map, and what is said of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx
import pytest

from games.risk.commands import read_map
from games.risk.rules.board import MAX_BORDERS, Board
from games.risk.rules.maps import MAP_NAMES, find_map, load_map
from protocol.codec import MAX_ARRAY_ITEMS
from protocol.errors import BadConfig, UsageFault
from protocol.messages import MAX_CLIENT_FRAME_BYTES

REPOSITORY = Path(__file__).parents[3]
every_map = pytest.mark.parametrize("name", MAP_NAMES)
RUDE = "\n\x1b[2J" + "x" * 3000
BONUSES = {"North America": 5, "South America": 2, "Europe": 5, "Africa": 3, "Asia": 7, "Australia": 2}
BETWEEN_CONTINENTS = {
    ("Alaska", "Kamchatka"),
    ("Greenland", "Iceland"),
    ("Central America", "Venezuela"),
    ("Brazil", "North Africa"),
    ("Western Europe", "North Africa"),
    ("Southern Europe", "North Africa"),
    ("Southern Europe", "Egypt"),
    ("Southern Europe", "Middle East"),
    ("Ukraine", "Middle East"),
    ("Ukraine", "Afghanistan"),
    ("Ukraine", "Ural"),
    ("Egypt", "Middle East"),
    ("East Africa", "Middle East"),
    ("Siam", "Indonesia"),
}


def sound(**changed: Any) -> dict[str, Any]:
    """A map of three territories in a row, with some of its fields changed."""
    territories = [
        {"name": name, "continent": 0, "x": 10 * i, "y": 0} for i, name in enumerate(("West", "Mid", "East"))
    ]
    parse_map = {
        "name": "row",
        "territories": territories,
        "continents": [{"name": "Land", "bonus": 1}],
        "borders": [["West", "Mid"], ["Mid", "East"]],
    }
    return {**parse_map, **changed}


def row(count: int) -> dict[str, Any]:
    territories = [{"name": f"t{i}", "continent": 0, "x": 0, "y": 0} for i in range(count)]
    return sound(territories=territories, borders=[[i, i + 1] for i in range(count - 1)])


def territory(index: int, **changed: Any) -> dict[str, Any]:
    """`sound`, with some fields of one territory changed."""
    territories = [dict(place) for place in sound()["territories"]]
    territories[index] |= changed
    return sound(territories=territories)


def pairs(board: Board) -> set[tuple[str, str]]:
    return {(board.territories[a].name, board.territories[b].name) for a, b in board.borders}


def graph(board: Board) -> networkx.Graph:
    """A map of one part, as a library of graphs has it."""
    return networkx.Graph(board.borders)


@every_map
def test_a_map_is_connected_and_its_neighbours_know_each_other(name: str) -> None:
    board = load_map(name)
    assert board.name == name
    assert sum(map(len, board.members)) == len(board)
    assert networkx.is_connected(graph(board))
    assert len({place.name for place in board.territories}) == len(board)
    for territory, neighbours in enumerate(board.neighbours):
        assert neighbours == tuple(sorted(set(neighbours) - {territory}))
        assert all(territory in board.neighbours[neighbour] for neighbour in neighbours)


@every_map
def test_a_map_travels_and_comes_back_as_it_was(name: str) -> None:
    board = load_map(name)
    assert find_map(json.loads(json.dumps(board.encoded))) == board
    assert len(json.dumps(board.encoded)) < MAX_CLIENT_FRAME_BYTES / 2, "a bot may seek a match on it"


def test_the_world_gives_the_classic_bonuses() -> None:
    assert {continent.name: continent.bonus for continent in load_map("world").continents} == BONUSES


def test_the_continents_of_the_world_meet_at_the_classic_borders() -> None:
    world = load_map("world")
    continent = {place.name: place.continent for place in world.territories}
    found = {pair for pair in pairs(world) if continent[pair[0]] != continent[pair[1]]}
    assert {frozenset(pair) for pair in found} == {frozenset(pair) for pair in BETWEEN_CONTINENTS}


@pytest.mark.parametrize("continent", BONUSES)
def test_the_map_of_a_continent_is_its_part_of_the_world(continent: str) -> None:
    world, part = load_map("world"), load_map(continent.lower().replace(" ", "-"))
    [only] = part.continents
    assert (only.name, only.bonus) == (continent, BONUSES[continent])
    index = next(i for i, known in enumerate(world.continents) if known.name == continent)
    names = [place.name for place in part.territories]
    assert names == [world.territories[member].name for member in world.members[index]]
    assert pairs(part) == {pair for pair in pairs(world) if set(pair) <= set(names)}


def test_australia_is_south_america_by_other_names() -> None:
    assert networkx.is_isomorphic(graph(load_map("australia")), graph(load_map("south-america")))


@pytest.mark.parametrize("side", [6, 10])
def test_a_grid_has_four_neighbours_and_fewer_at_the_edge(side: int) -> None:
    board = load_map(f"grid-{side}x{side}")
    assert networkx.is_isomorphic(graph(board), networkx.grid_2d_graph(side, side))
    assert board.neighbours[side + 1] == (1, side, side + 2, 2 * side + 1)
    assert board.territories[side + 1].name == "b2"


def test_a_territory_or_continent_may_be_named_or_numbered() -> None:
    by_number = sound(borders=[[0, 1], [1, 2]])
    assert find_map(by_number) == find_map(sound()) == find_map(territory(1, continent="Land"))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (
            sound(borders=[["West", "North"]]),
            r"borders\[0\] names the territory 'North', which does not exist: give a name or 0 to 2",
        ),
        (sound(borders=[["West", 3]]), r"borders\[0\] names the territory 3, which"),
        (sound(borders=[["West", True]]), r"borders\[0\] names the territory True, which"),
        (sound(borders=[["West", "Mid"]]), "the map has 2 separate parts: no path leads from West to East"),
        (sound(borders=[["Mid", "Mid"]]), r"borders\[0\] is a border of 'Mid' with itself"),
        (sound(borders=[[0, 1], [1, 2], ["Mid", "West"]]), r"borders\[2\] repeats borders\[0\]"),
        (sound(borders=[["West"]]), r"borders\[0\] is \['West'\]: it must be a pair of territories"),
        (sound(borders="West-Mid"), "borders is 'West-Mid': it must be a list of pairs"),
        (sound(borders=[[0, 1]] * 1001), "there are 1001 borders: at most 1000"),
        (territory(2, name="West"), r"territories\[0\] and territories\[2\] are both called West"),
        (
            sound(continents=[{"name": "Land", "bonus": 1}] * 2),
            r"continents\[0\] and continents\[1\] are both called Land",
        ),
        (territory(2, name=""), r"territories\[2\].name is '': it must have 1 to 40 printable characters"),
        (territory(2, name="x" * 41), r"territories\[2\].name is .*: it must have 1 to 40 printable"),
        (territory(2, name="a\x1bb"), r"territories\[2\].name is 'a\\x1bb': it must have 1 to 40 printable"),
        (territory(1, x=101), r"territories\[1\].x is 101: .* from 0 to 100"),
        (territory(1, y=-1), r"territories\[1\].y is -1: .* from 0 to 100"),
        (territory(1, y="5"), r"territories\[1\].y is '5': "),
        (territory(1, y=float("nan")), r"territories\[1\].y is nan: "),
        (territory(1, y=True), r"territories\[1\].y is True: "),
        (territory(1, y=0x10**4000), r"territories\[1\].y is something too long to show: "),
        (territory(1, continent="Sea"), r"territories\[1\].continent names the continent 'Sea', which does not exist"),
        (territory(1, colour="red"), r"territories\[1\] has a key 'colour': its keys are name, continent, x, y"),
        (
            sound(territories=[{"name": "West", "continent": 0, "x": 0, "z": 0}] * 3),
            r"territories\[0\] has no y but a key 'z': its keys are name, continent, x, y",
        ),
        (sound(territories=[{"name": "West"}] * 3), r"territories\[0\] has no continent: its keys are name"),
        (sound(territories="none"), "territories is 'none': it must be a list of tables"),
        (sound(territories=[1, 2]), r"territories is \[1, 2\]: it must be a list of tables"),
        (row(1), "there are 1 territories: 2 to 100"),
        (row(101), "there are 101 territories: 2 to 100"),
        (sound(continents=[]), "there are 0 continents: 1 to 100"),
        (
            sound(continents=[{"name": "A", "bonus": -1}]),
            r"continents\[0\].bonus is -1: it must be an integer from 0 to 100",
        ),
        (
            sound(continents=[{"name": "Land", "bonus": 1}, {"name": "Sea", "bonus": 1}]),
            "the continent Sea has no terr",
        ),
        (
            sound(continents=[{"name": "Land", "bonus": 60}, {"name": "Sea", "bonus": 41}]),
            "the bonuses add up to 101: at most 100",
        ),
        (sound(name=7), "map.name is 7: it must have 1 to 40 printable characters"),
        (
            {key: value for key, value in sound().items() if key != "name"},
            "map has no name: its keys are name, territories",
        ),
        (sound(scale=2), "map has a key 'scale': its keys are name, territories, continents, borders"),
        ("atlantis", "there is no map 'atlantis': one of south-america, .*, or a file: map=@my.toml"),
        ("x" * 99, "there is no map 'x.*: one of south-america, .*, or a file: map=@my.toml"),
        ("my.toml", "there is no map 'my.toml': to use a file, write map=@my.toml"),
        (5, "map is 5: it must be a name or a table"),
        ([sound()], r"map is \[.*: it must be a name or a table"),
    ],
)
def test_a_bad_map_is_refused_in_one_line_that_says_where(value: Any, complaint: str) -> None:
    with pytest.raises(BadConfig, match=complaint) as refused:
        find_map(value, "risk-campaign")
    assert str(refused.value).startswith("risk-campaign: ")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "value",
    [
        RUDE,
        {RUDE: 1},
        [RUDE] * 100,
        sound(**{RUDE: 1}),
        sound(name=RUDE),
        sound(borders=[[RUDE, 0]]),
        sound(borders=[[RUDE] * 50]),
        sound(continents=[{RUDE: 1}]),
        territory(0, **{RUDE: 1}),
        territory(0, name=RUDE),
        territory(0, x=RUDE),
        territory(0, continent=RUDE),
        territory(2, name="x" * 40) | {"borders": []},
    ],
)
def test_a_refusal_of_a_map_is_one_short_line_whatever_was_sent(value: Any) -> None:
    with pytest.raises(BadConfig) as refused:
        find_map(value, "risk-campaign")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


def test_the_borders_of_any_map_fit_a_message() -> None:
    assert MAX_BORDERS <= MAX_ARRAY_ITEMS
    clique = [[a, b] for a in range(45) for b in range(a)]
    far = [[44, i] for i in range(45, 55)]
    assert len(find_map({**row(55), "borders": clique + far}).borders) == MAX_BORDERS


def test_an_argument_is_the_name_of_a_map_or_a_file(tmp_path: Path) -> None:
    assert read_map("africa") is load_map("africa")
    file = tmp_path / "my.json"
    file.write_text(json.dumps(sound()))
    assert read_map(str(file)) == read_map(f"@{file}") == find_map(sound())


def test_an_argument_that_is_no_map_is_answered_with_what_would_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageFault, match=r"there is no map 'atlantis': one of south-america, .*, or a file like my\.toml"
    ):
        read_map("atlantis")
    with pytest.raises(UsageFault, match=r"the file 'nowhere.toml' can't be read: No such file or directory"):
        read_map("nowhere.toml")
    Path("bad").mkdir()
    Path("bad/my.toml").write_text('name = "mine"\n')
    with pytest.raises(
        BadConfig, match=r"^map: in 'bad/my.toml': map has no territories: its keys are name, territories"
    ):
        read_map("bad/my.toml")


def test_a_game_loads_no_graphs_whatever_its_map() -> None:
    program = """
import sys
from protocol.games import load_game
load_game('risk-campaign')
africa = load_game('risk-duel', {'map': 'africa'}).config['map']
load_game('risk-duel', {'map': {**africa, 'name': 'mine'}})
load_game('risk-campaign', load_game('risk-campaign', {'map': 'world'}).config)
sys.exit('networkx' in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY).returncode == 0


def test_a_map_that_comes_along_is_known_by_its_description() -> None:
    assert find_map(load_map("asia").encoded) is load_map("asia")
    assert find_map({**load_map("asia").encoded, "name": "world"}) not in (load_map("asia"), load_map("world"))
