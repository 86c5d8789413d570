"""Sets of weights for the evaluation of Risk: by name (the files beside this one), from a tuning, as text."""

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
"""The sets that have a name: equal weights, and the tunings that come with the package for both games."""
_MOST = {
    len(weights_of("risk-campaign", "features")): sys.float_info.max,
    len(weights_of("risk-campaign", "outlook")): 10.0,
}
"""How high a weight may be, by how many there are: those of `outlook` are powers."""
_RIGHT = "four numbers from 0 up, or six from 0 to 10 of outlook, like 1,1,1,1, one above 0"


def read_weights(
    bot: str, text: str, evaluation: str = "features", *, strict: bool = False
) -> Mapping[str, tuple[float, ...]]:
    """The weights for each of `WEIGHED` that has the evaluation, from as many numbers as it has (`1,2,3,4`,
    `1/2/3/4`), a name, or `@FILE`, a tuning; the usual ones for `equal`, and where those are of another evaluation,
    which is refused if `strict`.

    Numbers and a file hold for both games. Raises `UsageFault`, which begins with the name of the bot.
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
    """Numbers in text."""
    try:
        weights = [float(part) for part in re.split("[,/]", text)]
    except ValueError:
        weights = []
    if not are_weights(weights):
        other = f"or @FILE, a tuning; or one of {', '.join(NAMES)}"
        raise UsageFault(f"{bot}: weights is {text[:40]!r}: {_RIGHT}; {other}")
    return tuple(weights)


def are_weights(values: Sequence[float]) -> bool:
    """Whether these are as many numbers as some evaluation has, none negative or too high, and not all 0."""
    return len(values) in _MOST and all(0 <= value <= _MOST[len(values)] for value in values) and any(values)


def _named(bot: str, game: str, evaluation: str, name: str) -> tuple[float, ...] | None:
    """What was tuned for the evaluation; None where nothing was, under that name."""
    folder = _FOLDER / game if evaluation == "features" else _FOLDER / game / evaluation
    file = folder / f"{name}.toml"
    return _held(bot, str(file)) if file.exists() else None


def _held(bot: str, name: str) -> tuple[float, ...]:
    """The key `weights` of a file."""
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
    """The numbers in a list that a file holds; none if anything else is there."""
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        return []
    try:
        return [float(number) for number in value]
    except OverflowError:
        return []
