"""What `arena-bot analyze nim` and `grundy` tell of a position of heaps."""

from __future__ import annotations

from typing import Any

from machine.exact.heaps import as_sent
from protocol.games.theory.heaps import HeapRule
from protocol.games.theory.impartial import Difficulty, best_moves, count, grundy, outcome, reachable, value


def position_facts(heaps: tuple[int, ...], rule: HeapRule, *, misere: bool = False) -> dict[str, Any]:
    """Ready for JSON.

    `grundy` is null in misère; `p_positions` and `n_positions` count those that can be reached, this one included, and
    are null, as `difficulty` is, where there are too many. `difficulty` is the chance that a uniformly random winning
    side errs before the end.
    """
    share = value(heaps, rule, misere=misere)
    found = reachable(heaps, rule)
    counts = (None, None) if found is None else count(found, rule, misere=misere)
    best = best_moves(heaps, rule, misere=misere)
    return {
        "heaps": list(heaps),
        "class": outcome(heaps, rule, misere=misere),
        "value": float(share),
        "fraction": str(share),
        "grundy": None if misere else grundy(heaps, rule),
        "best_moves": [
            {**as_sent(heaps, move), "heap": i} for i, size in enumerate(heaps) for move in best if move.heap == size
        ],
        "p_positions": counts[0],
        "n_positions": counts[1],
        "difficulty": None if found is None else Difficulty(rule, misere=misere).error(heaps),
    }
