"""The luck of a tournament's matches: as it was kept, or from the records again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from arena.store.luck import MatchLuck
from arena.store.store import Store
from arena.tournament.plan import Plan
from measuring.luck import luck_of
from measuring.value import Nothing
from measuring.values import names_of
from protocol.reasons import VOID
from referee.record_reader import read
from referee.result import Result


def luck_by_match(store: Store, plan: Plan, results: Sequence[Result]) -> tuple[str | None, dict[str, float]]:
    """What luck is measured by, and the points that chance gave seat 0, by match; None where nothing is thrown, and
    with more than two seats. Void matches have none, nor have those whose record is gone.

    It is as it was kept. What was not, or not by the same value as the rest, comes from the records.
    """
    names = [name for name in names_of(plan.rules) if name != Nothing.name]
    if plan.rules.seats != 2 or not names:
        return None, {}
    kept = store.tournament_luck(plan.id)
    counted_in = {result.match for result in results if result.reason != VOID}
    values = Counter(luck.value for match, luck in kept.items() if match in counted_in)
    best = max(names, key=lambda name: values[name])
    value = next((name for name, times in values.items() if times == len(counted_in)), best)
    luck = {match: noted for match, noted in kept.items() if noted.value == value}
    bodies = ((match, store.record(match)) for match in sorted(counted_in - luck.keys()))
    anew = {
        match: MatchLuck(value, luck_of(read(body, match), value).total[0])
        for match, body in bodies
        if body is not None
    }
    store.keep_luck(anew)
    return value, {match: noted.points for match, noted in (luck | anew).items()}
