"""The words of games on the pages, by Node: each game has its own, and without a board there are words that fit any."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from protocol.games import load_game

Map = dict[str, Any]
CALL = """async (load, game, method, ...values) => {
  const { boardClass, loadBoards } = await load("board/index.js");
  const { endingInWords } = await load("board/ending-text.js");
  await loadBoards(game);
  if (method === "ending") return endingInWords({ game, ...values[0] }).why;
  const Board = boardClass(game);
  return (method in Board ? Board : Board.prototype)[method](...values);
}"""
SEATS = [{"bot": "ann"}, {"bot": "bob"}]
ROUND: Map = {"ply": 0, "seat": -1, "moves": [{"choose": 0}, {"choose": 1}], "result": {"payoffs": [0, 5]}}
MOVES: list[tuple[str, Map, str]] = [
    ("nim", {"heap": 0, "take": 2}, "2 from heap 1"),
    ("grundy", {"heap": 1, "split": 3}, "split 3 off heap 2"),
    ("tictactoe", {"cell": 4}, "middle"),
    ("risk-duel", {"do": "attack", "from": 0, "to": 2}, "Venezuela → Brazil"),
    ("risk-campaign", {"do": "draft", "units": [[0, 3]]}, "draft a1+3"),
    ("dilemma", {"choose": 1}, "defect"),
    ("kuhn", {"do": "bet"}, "bet"),
    ("leduc", {"do": "raise"}, "raise"),
    ("hex", {"cell": 4}, '{"cell":4}'),
]
EVENTS: list[tuple[str, Map, str]] = [
    ("nim", {"seat": -1, "move": {"heaps": [1, 2, 3]}}, "deals heaps of 1, 2, 3"),
    ("kuhn", {"seat": -1, "move": {"cards": [0, 2]}}, "deals J♠ and K♠"),
    ("leduc", {"seat": -1, "move": {"public": 3}}, "turns up Q♥"),
    ("risk-campaign", {"seat": -1, "move": {"owner": [0, 1, 0]}}, "deals 3 territories to 2 seats"),
    ("kuhn", {"seat": 0, "move": {"do": "fold"}, "result": {"won": 1, "chips": 1}}, "fold: bob wins 1 chip"),
    ("dilemma", ROUND, "cooperate, defect · 0 and 5"),
    ("tictactoe", {"seat": 1, "move": {"cell": 0}, "out": "timeout"}, "out: timeout"),
    ("hex", {"seat": -1, "moves": [{"bid": 1}, None]}, '{"bid":1}'),
    ("hex", {"seat": -1, "move": {"die": 6}}, 'deals {"die":6}'),
]
ENDINGS: list[tuple[str, Map, str]] = [
    ("tictactoe", {}, "ann has three in a row."),
    ("nim", {"event": {"seat": 0, "move": {}}}, "ann took the last counter."),
    ("grundy", {"event": {"seat": 0, "move": {}}}, "ann made the last split: no heap can be split again."),
    ("risk-duel", {}, "ann holds South America."),
    ("dilemma", {"state": {"payoffs": [7, 2]}}, "ann got 7, bob 2."),
    ("leduc", {"state": {"chips": [3, -3], "hand": 10}}, "ann won 3 chips in 10 hands."),
    ("hex", {}, "The game was played to its end."),
]
CONFIGS: list[tuple[str, Map, str]] = [
    ("nim", {"heaps": [21], "take": None, "misere": True}, "heaps 21; take any; misere yes"),
    ("risk-campaign", {"map": "world", "draft": "classic", "first_draft": 16}, "first draft 16"),
    (
        "dilemma",
        {"payoffs": [[[3, 3], [-1, 5]]], "choices": [["a"], ["b", "c"]], "rounds": 9, "go_on": "0.9"},
        "a – b\u00a03\u00a0:\u00a03; a – c\u00a0−1\u00a0:\u00a05; rounds 9; another round follows with a chance of 0.9",
    ),
    ("dilemma", {"payoffs": [[[0, 0]] * 3] * 3, "choices": [["a", "b", "c"]] * 2, "rounds": 9}, "rounds 9"),
    ("hex", {"size": 5, "swap": False, "board": {"rows": 5}}, 'size 5; swap no; board {"rows":5}'),
]
EXAMPLES: list[tuple[str, Map, Map]] = [
    ("risk-duel", {"do": "attack"}, {"dice": [[6], [1]], "hasPicture": True, "goesOn": False}),
    ("risk-campaign", {"do": "draft"}, {"dice": [[6], [1]], "hasPicture": True, "goesOn": True}),
    ("risk-campaign", {"do": "end"}, {"dice": [[6], [1]], "hasPicture": False, "goesOn": False}),
    ("leduc", {"do": "bet"}, {"dice": [], "hasPicture": True, "goesOn": False}),
]


@pytest.fixture
def words(scripts: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that asks a game for words: its name, a method of its board, and what that takes."""
    return partial(scripts, CALL)


def config_of(game: str) -> Map:
    return {} if game == "hex" else load_game(game).config


@pytest.mark.parametrize(("game", "move", "told"), MOVES)
def test_every_game_has_words_for_its_moves(words: Callable[..., Any], game: str, move: Map, told: str) -> None:
    assert words(game, "moveText", config_of(game), move) == told


@pytest.mark.parametrize(("game", "event", "told"), EVENTS)
def test_every_game_has_words_for_its_events(words: Callable[..., Any], game: str, event: Map, told: str) -> None:
    assert words(game, "eventText", config_of(game), event, SEATS) == told


@pytest.mark.parametrize(("game", "known", "told"), ENDINGS)
def test_every_game_says_how_it_was_won(words: Callable[..., Any], game: str, known: Map, told: str) -> None:
    ended = {"bots": ["ann", "bob"], "ranks": [1, 2], "reason": "win", "reasons": ["win", "win"]}
    assert words(game, "ending", {"config": config_of(game), **ended, **known}) == told


@pytest.mark.parametrize(("game", "config", "told"), CONFIGS)
def test_every_game_has_words_for_its_presets(words: Callable[..., Any], game: str, config: Map, told: str) -> None:
    assert words(game, "configText", config) == told


@pytest.mark.parametrize(("game", "move", "shown"), EXAMPLES)
def test_a_game_says_how_the_examples_of_its_rules_are_shown(
    words: Callable[..., Any], game: str, move: Map, shown: Map
) -> None:
    assert words(game, "exampleOf", move) == shown


def test_the_end_of_a_hand_is_shown_with_a_sentence_before_the_next_is_dealt(words: Callable[..., Any]) -> None:
    events: list[Map] = [
        {"seat": 1, "move": {"do": "fold"}, "result": {"won": 0, "chips": 1}},
        {"seat": -1, "move": {"cards": [0, None]}},
    ]
    (shown,) = words("kuhn", "steps", {"state": {"to_move": 0, "cards": [0, None]}, "events": events})
    assert (shown["event"], shown["left"], shown["text"]) == (events[0], 1, "The hand is over.")
    assert words("nim", "steps", {"state": {}, "events": events}) == []


@pytest.mark.parametrize(
    ("game", "state", "told"),
    [("kuhn", {"hand": 4}, "hand 5"), ("kuhn", None, "move 9"), ("nim", {"ply": 8}, "move 9")],
)
def test_a_move_is_found_by_its_hand_where_there_are_hands(
    words: Callable[..., Any], game: str, state: Map | None, told: str
) -> None:
    assert words(game, "placeText", 9, state) == told


def test_a_game_describes_the_values_of_its_graded_moves(words: Callable[..., Any]) -> None:
    assert words("hex", "gradeScaleText", "points") == "In points."
    assert words("leduc", "gradeScaleText", "chips").startswith("In chips of the hand, against an opponent")


def test_a_game_says_what_a_capture_is(words: Callable[..., Any]) -> None:
    taken: Map = {"result": {"taken": True}}
    assert [words(game, "isCapture", taken) for game in ("risk-duel", "risk-campaign", "nim")] == [True, True, False]
    assert not words("risk-duel", "isCapture", {"move": {"do": "end"}})
