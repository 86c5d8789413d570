"""Sets of weights for evaluations of Risk, read from text, from a tuning's file, or from the named sets of a game."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from bots.evaluation import default_weights
from machine.arguments import read_file
from protocol.config_values import FileTable
from protocol.errors import UsageFault
from protocol.games import clear_on_registration, game_names, game_spec
from protocol.games.spec import EvaluationSpec

_EQUAL_NAME = "equal"
"""The name of the set of default weights."""
COUNT_WORDS = {4: "four", 6: "six"}
"""The English word for a number of weights, by the number, for error messages."""


@clear_on_registration
@cache
def weighted_games() -> tuple[str, ...]:
    """Return the games with an evaluation that has weights."""
    return tuple(game for game in game_names() if _weighted_evaluations(game))


@clear_on_registration
@cache
def weight_set_names() -> tuple[str, ...]:
    """Return the names of the sets of weights: `equal`, and the sets for the evaluation `features` that all games with
    weights have.
    """
    names = ({file.stem for file in _sets_of(game).glob("*.toml")} for game in weighted_games())
    return (_EQUAL_NAME, *sorted(set.intersection(*names)))


@clear_on_registration
@cache
def _max_weights() -> Mapping[int, float]:
    """Return a mapping from the number of weights that an evaluation has to their highest valid value."""
    evaluations = (
        (game, name, spec) for game in weighted_games() for name, spec in _weighted_evaluations(game).items()
    )
    return {
        len(default_weights(game, name)): sys.float_info.max if spec.max_weight is None else spec.max_weight
        for game, name, spec in evaluations
    }


@clear_on_registration
@cache
def _describe_weights() -> str:
    """Return a description of valid weights, for messages."""
    (count, _), *bounded = sorted(_max_weights().items())
    names = {
        len(default_weights(game, name)): name for game in weighted_games() for name in _weighted_evaluations(game)
    }
    others = "".join(f" (or {COUNT_WORDS[n]} from 0 to {most:g} for {names[n]})" for n, most in bounded)
    example = ",".join("1" * count)
    return f"{COUNT_WORDS[count]} numbers of 0 or more{others}, not all 0, like {example}"


def _weighted_evaluations(game: str) -> Mapping[str, EvaluationSpec]:
    return {name: spec for name, spec in game_spec(game).evaluations.items() if spec.weights is not None}


def _sets_of(game: str) -> Path:
    spec = game_spec(game)
    return Path(str(files(spec.room))) / (spec.weight_sets or "")


def read_weights(
    bot: str, text: str, evaluation: str = "features", *, strict: bool = False
) -> Mapping[str, tuple[float, ...]]:
    """Return, by game, the weights that `text` names for an evaluation. The games are those in `weighted_games` that
    have the evaluation.

    `text` is a list of numbers (`1,2,3,4` or `1/2/3/4`), the name of a set, or `@FILE`, the file of a tuning. Numbers
    and files apply to all these games. `equal` means the default weights. Without `strict`, weights of another
    evaluation are replaced by the default weights. Raise a `UsageFault` that begins with the bot's name if the weights
    are invalid or, with `strict`, if they belong to another evaluation.
    """
    usual = {game: weights for game in weighted_games() if (weights := default_weights(game, evaluation))}
    if text == _EQUAL_NAME:
        return usual
    found: Mapping[str, tuple[float, ...] | None]
    if text in weight_set_names():
        found = {game: _load_named_set(bot, game, evaluation, text) for game in usual}
    else:
        weights = _load_weights(bot, text[1:]) if text.startswith("@") else _parse_weights(bot, text)
        found = {game: weights if len(weights) == len(usual[game]) else None for game in usual}
    if strict and None in found.values():
        raise UsageFault(f"{bot}: these are not weights of {evaluation}")
    return {game: found[game] or usual[game] for game in usual}


def _parse_weights(bot: str, text: str) -> tuple[float, ...]:
    try:
        weights = [float(part) for part in re.split("[,/]", text)]
    except ValueError:
        weights = []
    if not are_weights(weights):
        other = f"or @FILE, a tuning; or one of {', '.join(weight_set_names())}"
        raise UsageFault(f"{bot}: weights is {text[:40]!r}: give {_describe_weights()}; {other}")
    return tuple(weights)


def are_weights(values: Sequence[float]) -> bool:
    """Return whether these are valid weights: as many as an evaluation has, in its range, and not all 0."""
    return (
        len(values) in _max_weights()
        and all(0 <= value <= _max_weights()[len(values)] for value in values)
        and any(values)
    )


def _load_named_set(bot: str, game: str, evaluation: str, name: str) -> tuple[float, ...] | None:
    """Return the set of weights called `name` for the evaluation; None if the evaluation has no such set."""
    folder = _sets_of(game) if evaluation == "features" else _sets_of(game) / evaluation
    file = folder / f"{name}.toml"
    return _load_weights(bot, str(file)) if file.exists() else None


def _load_weights(bot: str, name: str) -> tuple[float, ...]:
    """Return the weights in a tuning's file, its key `weights`. Raise `UsageFault` if they are missing or invalid."""
    held = read_file(name)
    where = f"{bot}: in {held.file if isinstance(held, FileTable) else repr(name)}"
    if not isinstance(held, FileTable) or "weights" not in held:
        unfinished = isinstance(held, FileTable) and "running" in held
        what = "the tuning has no finished generation yet" if unfinished else "the file must be one of arena-bot tune"
        raise UsageFault(f"{where}: there is no key weights: {what}")
    weights = _read_numbers(held["weights"])
    if not are_weights(weights):
        raise UsageFault(f"{where}: weights must be {_describe_weights().replace('1,1,1,1', '[1, 1, 1, 1]')}")
    return tuple(weights)


def _read_numbers(value: object) -> list[float]:
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        return []
    try:
        return [float(number) for number in value]
    except OverflowError:
        return []
