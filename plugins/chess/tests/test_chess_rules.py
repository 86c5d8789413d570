"""The rules of chess beside published counts of positions, and what the arena adds: names of moves, draws, states.

The counts (perft) are those of the Chess Programming Wiki, https://www.chessprogramming.org/Perft_Results.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import chess
import pytest
from pettingzoo.test import api_test

from arena.web.drawings import draw
from bot_arena_chess.rules import NamedMove, Position, facts_of, name_moves
from bots.environments import env
from bots.playing.matches import play
from protocol.dice import Dice
from protocol.errors import IllegalMove, MalformedMove
from protocol.games import game_document, game_spec, guard_game, load_game
from protocol.games.turn_game import TurnState
from referee.contract import ContractChecker

PERFT = {
    "the start": (chess.STARTING_FEN, (20, 400, 8902)),
    "position 2": ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", (48, 2039, 97862)),
    "position 3": ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", (14, 191, 2812)),
    "position 4": ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", (6, 264, 9467)),
    "position 5": ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", (44, 1486, 62379)),
}
LIBRARY_PERFT = (20, 400, 8902, 197_281, 4_865_609)
RULES: Any = load_game("chess")
DICE = Dice(bytes(32), 0)


def at(fen: str) -> TurnState:
    """Return the state of a position in FEN."""
    return TurnState(Position(fen, fen), 0)


def after(*moves: str, state: TurnState | None = None) -> TurnState:
    """Return the state after some moves, from the start if no other state is given."""
    state = state or RULES.initial(DICE)[0]
    for move in moves:
        state = RULES.apply(state, move, DICE)[0]
    return state


def count_positions(state: TurnState, depth: int) -> int:
    """Count the ways to play `depth` moves by the arena's rules."""
    moves: Sequence[str] = RULES.legal_moves(state)
    if depth == 1:
        return len(moves)
    return sum(count_positions(RULES.apply(state, move, DICE)[0], depth - 1) for move in moves)


def count_library_positions(board: chess.Board, depth: int) -> int:
    """Count the ways to play `depth` moves by python-chess."""
    if depth == 1:
        return int(board.legal_moves.count())
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += count_library_positions(board, depth - 1)
        board.pop()
    return total


@pytest.mark.parametrize("position", PERFT)
def test_the_arenas_rules_count_as_many_positions_as_are_published(position: str) -> None:
    fen, counts = PERFT[position]
    assert tuple(count_positions(at(fen), depth) for depth in (1, 2, 3)) == counts


def test_the_library_counts_as_many_positions_as_are_published() -> None:
    assert tuple(count_library_positions(chess.Board(), depth) for depth in (1, 2, 3, 4, 5)) == LIBRARY_PERFT


def test_random_games_keep_the_contract() -> None:
    checker = ContractChecker(RULES)
    for seed in range(5):
        states = checker.check_game(seed).states
        guard_game(RULES).check_turn(states[-2])  # as when a bot fails
    checker.check_refusals()


def test_another_game_is_found_without_python_chess() -> None:
    program = (
        "from protocol.games import is_known_game; import sys; is_known_game('none'); print('chess' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_the_package_has_documents_and_a_digest() -> None:
    spec = game_spec("chess")
    assert (spec.version, len(spec.digest)) == ("1", 64)
    assert (game_document("chess", "rules_document") or "").startswith("## Chess\n")
    assert (game_document("chess", "summary_document") or "").startswith("Chess. ")


def test_names_of_moves_are_those_of_python_chess() -> None:
    rng = random.Random(5)
    for _ in range(10):
        board = chess.Board()
        for _ in range(120):
            assert name_moves(board) == {move.uci(): board.san(move).rstrip("+#") for move in board.legal_moves}
            if not any(board.legal_moves):
                break
            board.push(rng.choice(list(board.legal_moves)))


def test_a_turn_names_its_moves_and_takes_them_with_the_name_or_without() -> None:
    legal, options = RULES.legal_moves_for_turn(RULES.initial(DICE)[0])
    assert {"move": "g1f3", "san": "Nf3"} in legal
    assert options is None
    named, plain = RULES.decode_move({"move": "g1f3", "san": "Nf3"}), RULES.decode_move({"move": "g1f3"})
    assert isinstance(named, NamedMove)
    assert named == plain == RULES.parse_move(" G1F3 ")
    assert (RULES.notation(named), RULES.notation(plain)) == ("Nf3", "g1f3")
    _, event = RULES.apply(RULES.initial(DICE)[0], named, DICE)
    assert event.move == {"move": "g1f3"}
    assert RULES.describe_event(event) == "Nf3"


@pytest.mark.parametrize("san", ["", "N\nf3", 3, "Nf3" * 9])
def test_a_name_that_is_none_is_refused(san: object) -> None:
    with pytest.raises(MalformedMove, match="san is no move"):
        RULES.decode_move({"move": "g1f3", "san": san})


@pytest.mark.parametrize("rules", [RULES, guard_game(RULES)], ids=["trusted", "guarded"])
def test_an_illegal_move_is_refused_with_some_legal_ones(rules: Any) -> None:
    with pytest.raises(IllegalMove, match=r"'e2e5' is not a legal move now: one of g1h3, .* and 12 more"):
        rules.apply(at(chess.STARTING_FEN), rules.decode_move({"move": "e2e5"}), DICE)
    with pytest.raises(MalformedMove, match="this one has 3"):
        rules.decode_move(3)


def test_mate_wins_and_the_mated_side_loses() -> None:
    mated = after("f2f3", "e7e5", "g2g4", "d8h4")
    assert RULES.to_move(mated) is None
    assert (RULES.ranks(mated), RULES.reason(mated)) == ((2, 1), "win")


@pytest.mark.parametrize(
    "fen",
    [
        "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
        "8/8/4k3/8/8/3NK3/8/8 w - - 0 1",
        "4k3/8/8/8/8/8/4R3/4K3 w - - 100 90",
    ],
    ids=["stalemate", "too little material", "fifty moves"],
)
def test_a_drawn_position_ends_the_match(fen: str) -> None:
    assert RULES.to_move(at(fen)) is None
    assert (RULES.ranks(at(fen)), RULES.reason(at(fen))) == ((1, 1), "draw")


def test_a_mate_on_the_hundredth_move_without_a_capture_wins() -> None:
    mated = at("R6k/8/7K/8/8/8/8/8 b - - 100 90")
    assert RULES.ranks(mated) == (1, 2)


def test_a_position_that_comes_for_the_third_time_is_a_draw_also_after_it_travelled() -> None:
    shuffle = ("g1f3", "g8f6", "f3g1", "f6g8")
    twice = after(*shuffle, *shuffle[:3])
    assert RULES.to_move(twice) == 1
    travelled = RULES.decode_state(RULES.encode_state(twice))
    thrice = after(shuffle[3], state=travelled)
    assert RULES.to_move(thrice) is None
    assert RULES.ranks(thrice) == (1, 1)
    assert thrice.state.moves == shuffle * 2


def test_a_state_begins_anew_where_no_position_can_come_again() -> None:
    state = after("g1f3", "g8f6", "e2e4")
    assert state.state == Position(state.state.fen, state.state.fen)
    moved = after("f6g8", state=state)
    assert (moved.state.base, moved.state.moves) == (state.state.fen, ("f6g8",))
    with pytest.raises(ValueError, match="illegal uci"):
        RULES.decode_state({**RULES.encode_state(moved), "moves": ["a1a8"]})
    with pytest.raises(ValueError, match="length <= 100"):
        RULES.decode_state({**RULES.encode_state(moved), "moves": ["f6g8"] * 101})


def test_boards_are_not_changed_by_what_is_asked_of_them() -> None:
    state = after("e2e4", "e7e5")
    before = facts_of(state.state.base, state.state.moves).board.copy()
    RULES.legal_moves_for_turn(state)
    after("g1f3", state=state)
    RULES.view(RULES.encode_state(state), 0)
    assert facts_of(state.state.base, state.state.moves).board == before


def test_pages_draw_the_board_with_the_king_in_check_and_promotions_share_their_squares() -> None:
    fen = "8/P6k/8/8/8/8/7K/7R b - - 0 1"
    moves = [{"move": "a7a8q", "san": "a8=Q"}, {"move": "a7a8n", "san": "a8=N"}, {"move": "h2g2"}]
    drawing = draw("chess", {}, RULES.encode_state(at(fen)), moves)
    grid = drawing.grid
    assert grid is not None
    assert grid.cells[1] == ["♙", "", "", "", "", "", "", "♚"]
    assert grid.owners == {"♙": 0, "♔": 0, "♖": 0, "♚": 1}
    assert ("".join(grid.column_labels), "".join(grid.row_labels)) == ("abcdefgh", "87654321")
    assert (grid.highlights, grid.checkered, grid.rotates) == ([], True, True)
    assert [(move.text, move.cells) for move in drawing.moves] == [
        ("a8=Q", [(1, 0), (0, 0)]),
        ("a8=N", [(1, 0), (0, 0)]),
        ("h2g2", [(6, 7), (6, 6)]),
    ]
    checked = draw("chess", {}, RULES.encode_state(at(fen.replace("7K", "K7"))), []).grid
    assert checked is not None
    assert checked.highlights == [(1, 7)]
    assert RULES.draw_board(at(fen)).splitlines()[1] == "7 P . . . . . . k"


def test_a_search_without_an_evaluation_plays() -> None:
    assert play(["greedy", "random"], "chess", seed=1).result.reason in ("win", "draw")


def test_learners_get_the_board_and_every_move_has_a_number() -> None:
    assert len(set(RULES.turn_game.every_move())) == len(RULES.turn_game.every_move()) == 1968
    api_test(env("chess"), num_cycles=20)
