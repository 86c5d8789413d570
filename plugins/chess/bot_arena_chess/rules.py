"""The rules of chess, by python-chess. White is seat 0.

A match ends without a claim: a position that comes for the third time, fifty moves of each side without a capture and
without a move of a pawn, and too little material to mate are draws.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import chess
from msgspec import Meta

from protocol.dice import Dice
from protocol.errors import MalformedMove
from protocol.games.turn_game import TurnGame, TurnRules, TurnState
from protocol.messages import Event

UciMove = Annotated[str, Meta(pattern="^[a-h][1-8][a-h][1-8][nbrq]?$")]
"""A move as UCI writes it: e2e4, e1g1 for castling, e7e8q."""
MAX_REVERSIBLE_PLIES = 100
"""The number of plies without a capture and without a move of a pawn after which a match is drawn."""
SAN_PATTERN = re.compile(r"[a-hKQRBNO1-8x=-]{2,8}")
"""The form of a move in standard algebraic notation, without `+` and `#`."""
FIGURINES = "♙♟♘♗♖♕♔♞♝♜♛♚"
"""The marks of pieces on the board of the pages, the pawns of both seats first."""
PIECES = "PpNBRQKnbrqk"
"""The letters of the pieces in the order of `FIGURINES`."""


class Position(NamedTuple):
    """A position: `fen`, and how it came about since a position that can't be repeated."""

    fen: str = chess.STARTING_FEN
    base: str = chess.STARTING_FEN
    """The last position in FEN that can't come again."""
    moves: Annotated[tuple[UciMove, ...], Meta(max_length=MAX_REVERSIBLE_PLIES)] = ()
    """The moves from `base` to `fen`."""


class Facts(NamedTuple):
    """A position as python-chess has it, and what follows from it. The board is never changed."""

    board: chess.Board
    legal: tuple[str, ...]
    is_over: bool


@lru_cache(4096)
def facts_of(base: str, moves: tuple[str, ...]) -> Facts:
    """Return the facts about the position after some moves from a position in FEN. Raise `ValueError` if there is no
    such position.
    """
    if moves:
        board = facts_of(base, moves[:-1]).board.copy()
        board.push_uci(moves[-1])
    else:
        board = chess.Board(base)
    legal = tuple(move.uci() for move in board.legal_moves)
    is_drawn = (
        board.is_repetition(3) or board.halfmove_clock >= MAX_REVERSIBLE_PLIES or board.is_insufficient_material()
    )
    return Facts(board, legal, is_drawn or not legal)


class Chess(TurnGame[Position, UciMove]):
    """Chess. A move is written as UCI does, and people may write it in standard algebraic notation."""

    name = "chess"
    title = "Chess"
    about = "Checkmate the king of the other side."
    draw_probability = 0.3
    marks = FIGURINES
    row_labels = "87654321"
    column_labels = "abcdefgh"
    checkered = True
    rotates_board = True

    def start(self) -> Position:
        return Position()

    def turn(self, state: Position) -> int | None:
        facts = facts_of(state.base, state.moves)
        return None if facts.is_over else int(facts.board.turn == chess.BLACK)

    def moves(self, state: Position) -> Sequence[str]:
        return facts_of(state.base, state.moves).legal

    def play(self, state: Position, move: str) -> Position:
        before = facts_of(state.base, state.moves).board
        if before.is_irreversible(chess.Move.from_uci(move)):
            board = before.copy(stack=False)
            board.push_uci(move)
            fen = board.fen()
            return Position(fen, fen)
        moves = (*state.moves, str(move))
        return Position(facts_of(state.base, moves).board.fen(), state.base, moves)

    def winner(self, state: Position) -> int | None:
        board = facts_of(state.base, state.moves).board
        return int(board.turn == chess.WHITE) if board.is_checkmate() else None

    def every_move(self) -> Sequence[str]:
        """Return every move of a queen or a knight on an empty board, and every promotion."""
        squares = [(file, rank) for file in range(8) for rank in range(8)]
        plain = [
            (one, other)
            for one in squares
            for other in squares
            if one != other and _is_line_or_jump(other[0] - one[0], other[1] - one[1])
        ]
        promoting = [
            (one, other) for one, other in plain if (one[1], other[1]) in ((6, 7), (1, 0)) and _is_near(one, other)
        ]
        return [_name(one) + _name(other) for one, other in plain] + [
            f"{_name(one)}{_name(other)}{piece}" for one, other in promoting for piece in "nbrq"
        ]

    def grid(self, state: Position) -> Sequence[Sequence[str]]:
        board = chess.Board(state.fen)
        return [[_mark(board.piece_at(8 * rank + file)) for file in range(8)] for rank in reversed(range(8))]

    def cells(self, move: str) -> Sequence[tuple[int | None, int | None]]:
        """Return the squares from which and to which a piece moves. Promotions share theirs, so that people choose."""
        return [(8 - int(square[1]), ord(square[0]) - ord("a")) for square in (move[:2], move[2:4])]

    def highlights(self, state: Position) -> Sequence[tuple[int, int]]:
        """Return the square of a king in check."""
        board = chess.Board(state.fen)
        king = board.king(board.turn) if board.is_check() else None
        return [] if king is None else [(7 - chess.square_rank(king), chess.square_file(king))]

    def seat_of_mark(self, mark: str) -> int:
        return int(PIECES[FIGURINES.index(mark)].islower())

    def draw(self, state: Position) -> str:
        rows = str(chess.Board(state.fen)).splitlines()
        return "\n".join([*(f"{8 - at} {row}" for at, row in enumerate(rows)), "  a b c d e f g h"])


def _is_line_or_jump(files: int, ranks: int) -> bool:
    return 0 in (files, ranks) or abs(files) == abs(ranks) or {abs(files), abs(ranks)} == {1, 2}


def _is_near(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return abs(one[0] - other[0]) <= 1


def _name(square: tuple[int, int]) -> str:
    return f"{'abcdefgh'[square[0]]}{square[1] + 1}"


def _mark(piece: chess.Piece | None) -> str:
    return "" if piece is None else FIGURINES[PIECES.index(piece.symbol())]


class NamedMove(str):
    """A move with its name in standard algebraic notation, as the list of legal moves has it. It is equal to the move
    alone.
    """

    __slots__ = ("san",)
    san: str

    def __new__(cls, move: str, san: str) -> NamedMove:
        made = super().__new__(cls, move)
        made.san = san
        return made


_PlainRules: type[TurnRules[Position, str]] = Chess.rules


class ChessRules(_PlainRules):  # type: ignore[misc, valid-type]  # made when `Chess` was defined
    """The rules with names for moves: `turn.legal` has them, and events tell them."""

    move_syntax = "e2e4, e7e8q"

    def legal_moves_for_turn(self, state: TurnState) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        facts = facts_of(state.state.base, state.state.moves)
        names = name_moves(facts.board)
        return [{"move": move, "san": names[move]} for move in facts.legal], None

    def decode_move(self, wire: Any) -> str:
        if type(wire) is dict and wire.keys() == {"move", "san"}:
            san = wire["san"]
            if not isinstance(san, str) or not SAN_PATTERN.fullmatch(san):
                raise MalformedMove('san is no move: leave it out, as in {"move": "e2e4"}')
            return NamedMove(super().decode_move({"move": wire["move"]}), san)
        return str(super().decode_move(wire))

    def encode_move(self, move: str) -> dict[str, Any]:
        return {"move": str(move)}

    def notation(self, move: str) -> str:
        return move.san if isinstance(move, NamedMove) else move

    def apply(self, state: TurnState, move: str, dice: Dice) -> tuple[TurnState, Event]:
        after, event = super().apply(state, str(move), dice)
        board = facts_of(state.state.base, state.state.moves).board.copy(stack=False)
        result = {"san": board.san(chess.Move.from_uci(move))}
        return after, Event(ply=event.ply, seat=event.seat, move=event.move, result=result)

    def describe_event(self, event: Event) -> str:
        return str((event.result or {}).get("san", ""))

    def decode_state(self, wire: Mapping[str, Any]) -> TurnState:
        state: TurnState = super().decode_state(wire)
        facts_of(state.state.base, state.state.moves)  # raises ValueError if there is no such position
        return state


def name_moves(board: chess.Board) -> dict[str, str]:
    """Return the legal moves of a position by their UCI form, in standard algebraic notation without `+` and `#`."""
    moves = list(board.legal_moves)
    pieces = {move: board.piece_at(move.from_square) for move in moves}
    rivals: dict[tuple[chess.Piece | None, int], list[int]] = {}
    for move in moves:
        rivals.setdefault((pieces[move], move.to_square), []).append(move.from_square)
    return {move.uci(): _san(board, move, rivals[pieces[move], move.to_square]) for move in moves}


def _san(board: chess.Board, move: chess.Move, sources: Sequence[int]) -> str:
    """Return a move in standard algebraic notation. `sources` are the squares from which a piece of its kind can move
    to the same square.
    """
    if board.is_castling(move):
        return "O-O" if chess.square_file(move.to_square) > chess.square_file(move.from_square) else "O-O-O"
    source, target = chess.square_name(move.from_square), chess.square_name(move.to_square)
    takes = "x" if board.is_capture(move) else ""
    kind = board.piece_type_at(move.from_square)
    assert kind is not None
    if kind == chess.PAWN:
        promoted = f"={chess.piece_symbol(move.promotion).upper()}" if move.promotion else ""
        return f"{source[0] if takes else ''}{takes}{target}{promoted}"
    others = [chess.square_name(other) for other in sources if other != move.from_square]
    if not others:
        origin = ""
    elif all(other[0] != source[0] for other in others):
        origin = source[0]
    elif all(other[1] != source[1] for other in others):
        origin = source[1]
    else:
        origin = source
    return f"{chess.piece_symbol(kind).upper()}{origin}{takes}{target}"
