"""Sets of weights for evaluations of Risk: by name (the files in this folder), from a tuning's file, or as text."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bots.evaluation import weights_of
from machine.arguments import read_file
from protocol.config_values import FileTable
from protocol.errors import UsageFault

WEIGHED = ("risk-duel", "risk-campaign")
"""The games whose evaluation has weights."""
_FOLDER = Path(__file__).parent
_EQUAL = "equal"
NAMES = (
    _EQUAL,
    *sorted(set.intersection(*({file.stem for file in (_FOLDER / game).glob("*.toml")} for game in WEIGHED))),
)
"""The named sets: equal weights, and the tunings that the package contains for both games."""
_MOST = {
    len(weights_of("risk-campaign", "features")): sys.float_info.max,
    len(weights_of("risk-campaign", "outlook")): 10.0,
}
"""The highest weight by number of weights. Those of `outlook` are exponents."""
_RIGHT = "four numbers from 0 up, or six from 0 to 10 of outlook, like 1,1,1,1, one above 0"


def read_weights(
    bot: str, text: str, evaluation: str = "features", *, strict: bool = False
) -> Mapping[str, tuple[float, ...]]:
    """Return the weights of each game in `WEIGHED` that has the evaluation.

    `text` is a list of numbers (`1,2,3,4` or `1/2/3/4`), a name, or `@FILE`, a tuning. Numbers and files hold for both
    games. `equal` gives the default weights; so do weights of another evaluation, unless `strict`. Raises `UsageFault`,
    whose message begins with the bot's name.
    """
    usual = {game: weights for game in WEIGHED if (weights := weights_of(game, evaluation))}
    if text == _EQUAL:
        return usual
    found: Mapping[str, tuple[float, ...] | None]
    if text in NAMES:
        found = {game: _named(bot, game, evaluation, text) for game in usual}
    else:
        weights = _held(bot, text[1:]) if text.startswith("@") else _read(bot, text)
        found = {game: weights if len(weights) == len(usual[game]) else None for game in usual}
    if strict and None in found.values():
        raise UsageFault(f"{bot}: these are no weights of {evaluation}")
    return {game: found[game] or usual[game] for game in usual}


def _read(bot: str, text: str) -> tuple[float, ...]:
    try:
        weights = [float(part) for part in re.split("[,/]", text)]
    except ValueError:
        weights = []
    if not are_weights(weights):
        other = f"or @FILE, a tuning; or one of {', '.join(NAMES)}"
        raise UsageFault(f"{bot}: weights is {text[:40]!r}: {_RIGHT}; {other}")
    return tuple(weights)


def are_weights(values: Sequence[float]) -> bool:
    """Return whether some evaluation has this number of weights, all are in its range, and one is above 0."""
    return len(values) in _MOST and all(0 <= value <= _MOST[len(values)] for value in values) and any(values)


def _named(bot: str, game: str, evaluation: str, name: str) -> tuple[float, ...] | None:
    """Return the named set for the evaluation; None if it has none of that name."""
    folder = _FOLDER / game if evaluation == "features" else _FOLDER / game / evaluation
    file = folder / f"{name}.toml"
    return _held(bot, str(file)) if file.exists() else None


def _held(bot: str, name: str) -> tuple[float, ...]:
    """Return the key `weights` of a file."""
    held = read_file(name)
    where = f"{bot}: in {held.file if isinstance(held, FileTable) else repr(name)}"
    if not isinstance(held, FileTable) or "weights" not in held:
        unfinished = isinstance(held, FileTable) and "running" in held
        what = "the tuning has no finished generation yet" if unfinished else "it is a file of arena-bot tune"
        raise UsageFault(f"{where}: there is no key weights: {what}")
    weights = _numbers(held["weights"])
    if not are_weights(weights):
        raise UsageFault(f"{where}: weights is not {_RIGHT.replace('1,1,1,1', '[1, 1, 1, 1]')}")
    return tuple(weights)


def _numbers(value: object) -> list[float]:
    """Return the numbers of a list from a file; an empty list if it holds anything else."""
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        return []
    try:
        return [float(number) for number in value]
    except OverflowError:
        return []
