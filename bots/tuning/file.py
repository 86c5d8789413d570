"""The TOML file of a tuning, with the weights found so far and all that is needed to resume it.

Equal tunings give equal bytes: the file contains no times and names no machine.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from msgspec import Struct, defstruct, structs

from bots.search.kernels import SearchSettings, settings_class_of
from bots.tuning.genetic import FITNESS_DECIMALS, WEIGHT_DECIMALS, Gene, Generation, Method, median_fitness
from bots.tuning.presets import read_preset
from bots.tuning.selfplay import FEATURES_EVALUATION, SCORE_DECIMALS, Setup
from bots.tuning.tuning import RunningGeneration, Tuning, check_tuning, drop_nulls, format_command, format_config
from bots.tuning.weights import COUNT_WORDS
from machine.arguments import read_file
from machine.atomic_write import file_lock, replacing_file
from protocol.config_values import FileTable
from protocol.display import short_repr
from protocol.errors import ArenaFault, UsageFault
from protocol.field_errors import field_error

_SCORES_PER_LINE = 100
"""Maximum number of scores on a line of the file, if luck is not adjusted for. Each score is then one character."""
_ADJUSTED_SCORES_PER_LINE = 10
"""Maximum number of luck-adjusted scores on a line of the file."""
_MISSING_SCORE = "."
"""The text that stands in the file for the score of a game that has not been played."""
_SCORE_CHARACTERS: Mapping[float | None, str] = {1.0: "1", 0.0: "0", 0.5: "=", None: _MISSING_SCORE}
"""The character that stands in the file for a score, by score, if luck is not adjusted for."""
_ADJUSTED_SCORE_PATTERN = re.compile(rf"-?\d{{1,9}}\.\d{{{SCORE_DECIMALS}}}")
"""The pattern of a luck-adjusted score in the file."""
_FITNESS_RANGES: Mapping[str, tuple[float, float]] = {"results": (0, 1), "adjusted": (-10, 10)}
"""The minimum and maximum valid fitness, by the kind of fitness. A luck-adjusted score may be outside 0 to 1, and so
may the mean of several."""
_SCORES_BY_CHARACTER = {character: score for score, character in _SCORE_CHARACTERS.items()}
"""The score that each character of `_SCORE_CHARACTERS` stands for, by character."""


class TuningNotSaved(ArenaFault):
    """The file of a tuning can't be written. Its earlier content is unchanged."""


def save_tuning(tuning: Tuning, path: Path) -> None:
    """Write the tuning to its file atomically. Raise `TuningNotSaved` if that fails."""
    text = f"# {format_command(tuning)}\n{tomli_w.dumps(_make_document(tuning), multiline_strings=True)}"
    try:
        with replacing_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        still = f"; {path} keeps what it held, and --resume continues from there" if os.path.exists(path) else ""
        raise TuningNotSaved(f"{path} can't be written: {exc.strerror}{still}") from exc


@contextlib.contextmanager
def lock_tuning(path: Path) -> Iterator[None]:
    """Lock the file of a tuning in this context against other processes that would continue the tuning.

    Raise `ArenaFault` if another process holds the lock, `TuningNotSaved` if the file can't be locked. On Windows
    nothing is locked.
    """
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(file_lock(path))
        except BlockingIOError as exc:
            raise ArenaFault(f"another process is tuning {path}: wait until it ends, or name another --out") from exc
        except OSError as exc:
            raise TuningNotSaved(f"{path} can't be written: {exc.strerror}") from exc
        yield


def load_tuning(name: str) -> Tuning:
    """Return the tuning in a file. Raise `UsageFault` if the file is not as `save_tuning` writes it."""
    held = read_file(name)
    where = held.file if isinstance(held, FileTable) else short_repr(name)
    try:
        if not isinstance(held, dict):
            raise UsageFault("it is not a table")
        kind = settings_class_of(str(held.get("game")))
        form = _file_class(kind)
        if said := field_error(held, form):
            raise UsageFault(said)
        tuning = _make_tuning(msgspec.convert(held, form), kind)
        check_tuning(tuning)
        if differs := _find_difference(held, _make_document(tuning), ""):
            raise UsageFault(differs)
    except UsageFault as fault:
        why = str(fault)
        told = why[:200] if why.isprintable() else ascii(why[:200])
        raise UsageFault(f"the file {where} is not a valid tuning: {told}") from fault
    return tuning


def _make_document(tuning: Tuning) -> dict[str, Any]:
    weights, fitness = tuning.best or (None, None)
    provenance = {
        "preset": tuning.preset,
        "seed": tuning.seed,
        "version": tuning.version,
        "value": tuning.value,
        "games": tuning.games,
        "generations": len(tuning.generations),
        "fitness": fitness,
    }
    return drop_nulls(
        {
            "game": tuning.setup.game,
            "weights": weights and list(weights),
            "finished": tuning.running is None,
            "provenance": drop_nulls(provenance),
            "method": asdict(tuning.method),
            "search": drop_nulls(tuning.setup.search),
            "config": tuning.config,
            "generations": [_generation_table(generation) for generation in tuning.generations] or None,
            "running": tuning.running and _running_table(tuning, tuning.running),
        }
    )


def _generation_table(generation: Generation) -> dict[str, Any]:
    rows = zip(generation.genes, generation.fitness, strict=True)
    return {
        "number": generation.number,
        "best": max(generation.fitness),
        "median": median_fitness(generation),
        "population": "".join(f"{_format_gene(gene)} {fitness:9.{FITNESS_DECIMALS}f}\n" for gene, fitness in rows),
    }


def _running_table(tuning: Tuning, running: RunningGeneration) -> dict[str, Any]:
    """Return the TOML table with the scores of the unfinished generation. A score is one character, or a number between
    spaces if it is luck-adjusted. A full stop stands for a game not yet played.
    """
    if tuning.method.fitness == "results":
        words, between, width = [_SCORE_CHARACTERS[score] for score in running.scores], "", _SCORES_PER_LINE
    else:
        words = [_MISSING_SCORE if score is None else f"{score:.{SCORE_DECIMALS}f}" for score in running.scores]
        between, width = " ", _ADJUSTED_SCORES_PER_LINE
    lines = [between.join(words[at : at + width]) for at in range(0, len(words), width)]
    return {
        "number": len(tuning.generations) + 1,
        "genes": "".join(f"{_format_gene(gene)}\n" for gene in running.genes),
        "scores": "".join(f"{line}\n" for line in lines),
    }


def _format_gene(gene: Gene) -> str:
    return " ".join(f"{weight:8.{WEIGHT_DECIMALS}f}" for weight in gene)


class _Provenance(Struct):
    preset: str
    seed: str
    version: str
    value: str | None = None


class _Finished(Struct):
    population: str


class _Running(Struct):
    genes: str
    scores: str


class _File(Struct):
    """The keys of a tuning's file that are read, except the table `search`. The values of all other keys can be
    computed from these.
    """

    game: str
    provenance: _Provenance
    method: dict[str, Any]
    config: dict[str, Any]
    generations: list[_Finished] = []
    running: _Running | None = None


def _file_class(kind: type[SearchSettings]) -> type[Struct]:
    """Return the class of a tuning's file. The table `search` of the file has the settings of the class `kind` and the
    keys `depth`, `nodes` and `eval`.
    """
    own = [(field.name, field.type) for field in structs.fields(kind)]
    numbers = [("depth", int | None, None), ("nodes", int | None, None), ("eval", str, FEATURES_EVALUATION)]
    search = defstruct("_Search", [*own, *numbers])
    return defstruct("_Searched", [("search", search)], bases=(_File,), kw_only=True)


def _make_tuning(file: Any, kind: type[SearchSettings]) -> Tuning:
    read_preset(file.provenance.preset, file.game)
    method, search = _read_method(file.method), structs.asdict(file.search)
    setup = Setup(
        file.game,
        kind(**{field: search[field] for field in kind.__struct_fields__}),
        format_config(file.config),
        search["depth"],
        search["nodes"],
        search["eval"],
    )
    weights = len(setup.default_weights)
    generations = []
    for number, table in enumerate(file.generations, 1):
        rows = _read_rows(table.population, method, f"population of generation {number}", weights, 1)
        generations.append(Generation(number, tuple(row[:-1] for row in rows), tuple(row[-1] for row in rows)))
    if (file.running is None) != (len(generations) == method.generations):
        raise UsageFault(f"{len(generations)} generations are finished, but the method has {method.generations}")
    return Tuning(
        preset=file.provenance.preset,
        seed=file.provenance.seed,
        version=file.provenance.version,
        method=method,
        setup=setup,
        value=file.provenance.value,
        generations=tuple(generations),
        running=None if file.running is None else _read_running(file.running, method, weights),
    )


def _read_method(table: Mapping[str, Any]) -> Method:
    names = [field.name for field in fields(Method)]
    for key in names:
        if key not in table:
            raise UsageFault(f"there is no key method.{key}")
    method = Method(**{key: table[key] for key in names})
    method.check()
    return method


def _read_running(running: _Running, method: Method, weights: int) -> RunningGeneration:
    genes = _read_rows(running.genes, method, "genes of running", weights, 0)
    scores = _read_scores(running.scores) if method.fitness == "results" else _read_adjusted_scores(running.scores)
    if len(scores) != method.games:
        kind = "characters" if method.fitness == "results" else "numbers"
        raise UsageFault(
            f"scores of running has {len(scores)} {kind}: there must be one for each of {method.games} games"
        )
    return RunningGeneration(genes, scores)


def _read_scores(text: str) -> tuple[float | None, ...]:
    try:
        return tuple(_SCORES_BY_CHARACTER[character] for line in text.splitlines() for character in line)
    except KeyError as exc:
        raise UsageFault(f"scores of running has the character {exc}: one of {' '.join(_SCORES_BY_CHARACTER)}") from exc


def _read_adjusted_scores(text: str) -> tuple[float | None, ...]:
    words = text.split()
    for word in words:
        if word != _MISSING_SCORE and not _ADJUSTED_SCORE_PATTERN.fullmatch(word):
            right = f"a number with {SCORE_DECIMALS} decimals, or {_MISSING_SCORE} where the game was not played"
            raise UsageFault(f"scores of running has {short_repr(word)}: {right}")
    return tuple(None if word == _MISSING_SCORE else float(word) for word in words)


def _read_rows(text: str, method: Method, what: str, weights: int, extra_columns: int) -> tuple[tuple[float, ...], ...]:
    """Return a row of numbers for each gene (a set of weights): the weights, and the gene's fitness if `extra_columns`
    is 1.
    """
    lines = text.splitlines()
    if len(lines) != method.genes:
        raise UsageFault(f"{what} has {len(lines)} lines: there must be one for each of {method.genes} genes")
    return tuple(
        _read_row(line, method, f"{what}, line {number}", weights, extra_columns)
        for number, line in enumerate(lines, 1)
    )


def _read_row(line: str, method: Method, what: str, count: int, more: int) -> tuple[float, ...]:
    try:
        row = tuple(map(float, line.split()))
    except ValueError:
        row = ()
    weights, fitness = row[:count], row[count:]
    low, high = _FITNESS_RANGES[method.fitness]
    sound = all(0 <= weight <= method.highest for weight in weights) and any(weights)
    if len(row) != count + more or not sound or not all(low <= share <= high for share in fitness):
        also = f" and a fitness from {low:g} to {high:g}" if more else ""
        raise UsageFault(
            f"{what} is {short_repr(line)}: {COUNT_WORDS.get(count, count)} weights from 0 to {method.highest:g}{also}"
        )
    return row


def _find_difference(held: Any, right: Any, where: str) -> str | None:
    """Return a message about the first key that differs between a file, `held`, and its right content, `right`; None if
    they are equal.
    """
    if isinstance(held, dict) and isinstance(right, dict):
        for key in (*held, *right):
            at = f"{where}.{key}" if where else key
            if key not in right:
                return f"there is an unknown key {short_repr(at)}"
            if key not in held:
                return f"there is no key {at}"
            if found := _find_difference(held[key], right[key], at):
                return found
        return None
    if isinstance(held, list) and isinstance(right, list) and len(held) == len(right):
        pairs = enumerate(zip(held, right, strict=True), 1)
        return next((found for i, pair in pairs if (found := _find_difference(*pair, f"{where} {i}"))), None)
    return (
        None if held == right else f"{where} is {short_repr(held)}, but the rest of the file says {short_repr(right)}"
    )
