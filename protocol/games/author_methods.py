"""The author's words for the methods of a `Game`: the methods of a `TurnGame` that decide what one of them returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.games.base import Game
from protocol.games.turn_game import TurnGame, TurnRules

_RESULT_METHODS = ("winner", "ranks", "returns")
_AUTHOR_METHODS: Mapping[str, tuple[str, ...]] = {
    "load": ("start",),
    "initial": ("start",),
    "legal_moves": ("moves",),
    "legal_moves_for_turn": ("moves",),
    "to_move": ("turn",),
    "encode_state": ("turn",),
    "encode_move": ("moves",),
    "decode_move": ("moves",),
    "apply": ("moves", "play"),
    "outcomes": ("play",),
    "apply_chance": ("chances",),
    "chance_outcomes": ("chances",),
    "remove_seat": ("leave",),
    "ranks": _RESULT_METHODS,
    "reason": _RESULT_METHODS,
    "returns": ("returns",),
    "count_rounds": ("turn",),
    "view": ("seen",),
    "view_event": ("may_see_move",),
    "information_set": ("seen",),
    "draw_board": ("draw", "grid"),
    "parse_move": ("notation",),
    "sample_state": ("guess",),
}
"""The methods of a `TurnGame` that decide what a method of `Game` returns. The same name stands for itself."""


def author_methods(rules: type[Game[Any, Any]], method: str) -> tuple[str, ...]:
    """Return the methods that an author wrote and a call of the method `method` of a `Game` runs. If the rules are no
    `TurnGame`, or it wrote none of them, return `method` itself.
    """
    if not issubclass(rules, TurnRules):
        return (method,)
    written = rules.rules_class
    names = _AUTHOR_METHODS.get(method, (method,))
    own = tuple(name for name in names if getattr(written, name, None) is not getattr(TurnGame, name, None))
    return own or (method,)


def name_call(rules: type[Game[Any, Any]], method: str, exc: BaseException | None = None) -> str:
    """Return the name of a call of a method of a `Game`, in the author's words: `play`, or `moves and play` if it runs
    both. `exc` is an exception that ended the call; then only the method that it was raised in is named.
    """
    names = author_methods(rules, method)
    trace = None if exc is None else exc.__traceback__
    while trace is not None and issubclass(rules, TurnRules):
        name = trace.tb_frame.f_code.co_name
        own, default = getattr(rules.rules_class, name, None), getattr(TurnGame, name, None)
        if own is not default is not None and getattr(own, "__code__", None) is trace.tb_frame.f_code:
            return name
        trace = trace.tb_next
    return " and ".join(names)
