"""A tuning on disk: one TOML file, with the weights found so far and all that it takes to go on.

The same tuning gives the same bytes: no time and no machine is in them. What a tuning means is said in genetic.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import tomli_w
from msgspec import Struct, defstruct, structs

from bots.evaluation.base import EQUAL
from bots.search.kernels import settings_of
from bots.search.settings import SearchSettings
from bots.tuning.genetic import DECIMALS, Gene, Generation, Method, fittest
from bots.tuning.presets import PRESETS, read_preset
from bots.tuning.selfplay import Setup, check
from machine.files import read_file, read_value
from protocol.errors import ArenaFault, UsageFault
from protocol.shown import shown
from protocol.values import FileTable

MOST_GENES = 15_000
"""Of all generations together: a file with more would be too long for `read_file`."""
MOST_SEED = 64
_FITNESS_DECIMALS = 6
S = TypeVar("S", bound=Struct)
_SCORES_A_LINE = 100
_CHARACTERS: Mapping[float | None, str] = {1.0: "1", 0.0: "0", 0.5: "=", None: "."}
_SCORES = {character: score for score, character in _CHARACTERS.items()}


class NotKept(ArenaFault):
    """The file can't be written; what was there before still is."""


class Running(NamedTuple):
    """The generation under way: its genes, and by game the score of seat 0, None where it has not been played."""

    genes: tuple[Gene, ...]
    scores: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """How far a tuning is. `running` is None when all generations are finished."""

    preset: str
    seed: str
    version: str
    """Of bot-arena: another one may play other games."""
    method: Method
    setup: Setup
    generations: tuple[Generation, ...] = ()
    running: Running | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The game's config as given."""
        config: dict[str, Any] = json.loads(self.setup.config)
        return config

    @property
    def best(self) -> tuple[Gene, float] | None:
        """The fittest weights of the last finished generation, and their fitness."""
        if not self.generations:
            return None
        last = self.generations[-1]
        at = fittest(last)
        return last.genes[at], last.fitness[at]

    @property
    def games(self) -> int:
        """Played so far."""
        now = 0 if self.running is None else sum(score is not None for score in self.running.scores)
        return len(self.generations) * self.method.games + now


def config_text(config: Mapping[str, Any]) -> str:
    """A config for a `Setup`: equal configs give equal texts. What is null is left out, as TOML has no word for it."""
    return json.dumps(_present(config), sort_keys=True, default=str)


def middle(generation: Generation) -> float:
    """The median of the fitness."""
    return round(median(generation.fitness), _FITNESS_DECIMALS)


def check_tuning(tuning: Tuning) -> None:
    """Raises `UsageFault` for a tuning that can't be played, or not be kept in a file."""
    read_preset(tuning.preset, tuning.setup.game)
    check_seed(tuning.seed)
    check(tuning.setup)
    method = tuning.method
    method.check()
    if method.genes * method.generations > MOST_GENES:
        raise UsageFault(f"genes times generations is {method.genes * method.generations:,}: at most {MOST_GENES:,}")


def check_seed(seed: str) -> None:
    """Raises `UsageFault`."""
    if not 1 <= len(seed) <= MOST_SEED or not seed.isprintable():
        raise UsageFault(f"seed is {shown(seed)}: 1 to {MOST_SEED} printable characters")


def write(tuning: Tuning, path: Path) -> None:
    """Put the tuning in its file, whole or not at all. Raises `NotKept`."""
    text = f"# {command(tuning)}\n{tomli_w.dumps(_document(tuning), multiline_strings=True)}"
    try:
        with in_place_of(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        still = f"; {path} keeps what it held, and --resume goes on from there" if os.path.exists(path) else ""
        raise NotKept(f"{path} can't be written: {exc.strerror}{still}") from exc


@contextlib.contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """A file beside `path`, or beside what that links to, which takes its place in the end, or is removed."""
    temporary = _beside(path, "part")
    try:
        yield temporary
        os.replace(temporary, os.path.realpath(path))
    except BaseException:
        _remove(temporary)
        raise


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes from tuning the same file; the lock, a file beside it, ends with this process at the latest.

    Raises `ArenaFault` where another one tunes it, `NotKept` where there can be no lock. Windows goes without.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    lock = _beside(path, "lock")
    with contextlib.ExitStack() as held:
        try:
            file = held.enter_context(lock.open("a")).fileno()
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = os.fstat(file).st_nlink == 0  # since it was opened, who had it has removed it
        except BlockingIOError:
            taken = True
        except OSError as exc:
            raise NotKept(f"{path} can't be written: {exc.strerror}") from exc
        if taken:
            raise ArenaFault(f"another process is tuning {path}: wait for its end, or name another --out")
        held.callback(_remove, lock)
        yield


def _beside(path: Path, ending: str) -> Path:
    """A file beside `path`, or beside what that links to."""
    place = Path(os.path.realpath(path))
    return place.with_name(f"{place.name}.{ending}")


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def read(name: str) -> Tuning:
    """The tuning in a file. Raises `UsageFault`, naming file and key, for anything that `write` would not write."""
    held = read_file(name)
    where = held.file if isinstance(held, FileTable) else shown(name)
    try:
        kind = settings_of(str(held.get("game"))) if isinstance(held, dict) else SearchSettings
        tuning = _tuning(msgspec.convert(held, _File[_search_form(kind)]), kind)  # type: ignore[misc]
        check_tuning(tuning)
        if differs := _difference(held, _document(tuning), ""):
            raise UsageFault(differs)
    except msgspec.ValidationError as exc:
        raise UsageFault(_refused(where, str(exc).replace("`$.", "`").replace("`", ""))) from exc
    except UsageFault as fault:
        raise UsageFault(_refused(where, str(fault))) from fault
    return tuning


def _refused(where: str, why: str) -> str:
    text = why[:200] if why.isprintable() else ascii(why[:200])
    return f"the file {where} is no sound tuning: {text}"


def command(tuning: Tuning) -> str:
    """The command line that makes a tuning, but for where it is kept."""
    usual = PRESETS[tuning.preset][tuning.setup.game]
    words = ["arena-bot", "tune", tuning.setup.game, "--preset", tuning.preset]
    before = numbers(*usual)
    for key, value in numbers(tuning.method, tuning.setup).items():
        if value != before[key]:
            words += ["--set", f"{key}={'none' if value is None else value}"]
    usual_config = json.loads(usual.setup.config)
    for key, value in tuning.config.items():
        if key not in usual_config or value != usual_config[key]:
            words += ["--config", f"{key}={_word(value)}"]
    return shlex.join([*words, "--seed", tuning.seed])


def numbers(method: Method, setup: Setup) -> dict[str, Any]:
    """All that `--set` may change, by key."""
    return {**asdict(method), **setup.search}


def _word(value: Any) -> str:
    """A config value as `read_value` reads it."""
    plain = isinstance(value, str) and not value.startswith("@") and read_value(value) == value
    return value if plain else json.dumps(value)


def _document(tuning: Tuning) -> dict[str, Any]:
    """What the file holds."""
    weights, fitness = tuning.best or (None, None)
    provenance = {
        "preset": tuning.preset,
        "seed": tuning.seed,
        "version": tuning.version,
        "games": tuning.games,
        "generations": len(tuning.generations),
        "fitness": fitness,
    }
    document = {
        "game": tuning.setup.game,
        "weights": weights and list(weights),
        "finished": tuning.running is None,
        "provenance": _present(provenance),
        "method": asdict(tuning.method),
        "search": _present(tuning.setup.search),
        "config": tuning.config,
        "generations": [_generation_table(generation) for generation in tuning.generations] or None,
        "running": tuning.running and _running_table(tuning.running, len(tuning.generations) + 1),
    }
    return _present(document)


def _present(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def _generation_table(generation: Generation) -> dict[str, Any]:
    rows = zip(generation.genes, generation.fitness, strict=True)
    return {
        "number": generation.number,
        "best": max(generation.fitness),
        "median": middle(generation),
        "population": "".join(f"{_line(gene)} {fitness:9.{_FITNESS_DECIMALS}f}\n" for gene, fitness in rows),
    }


def _running_table(running: Running, number: int) -> dict[str, Any]:
    scores = "".join(_CHARACTERS[score] for score in running.scores)
    lines = [scores[at : at + _SCORES_A_LINE] for at in range(0, len(scores), _SCORES_A_LINE)]
    return {
        "number": number,
        "genes": "".join(f"{_line(gene)}\n" for gene in running.genes),
        "scores": "".join(f"{line}\n" for line in lines),
    }


def _line(gene: Gene) -> str:
    return " ".join(f"{weight:8.{DECIMALS}f}" for weight in gene)


class _Provenance(Struct):
    preset: str
    seed: str
    version: str


def _search_form(kind: type[SearchSettings]) -> type[Struct]:
    """The table `search` of a game with settings of this kind: they must all be there."""
    own = [(field.name, field.type) for field in structs.fields(kind)]
    return defstruct("_Search", [*own, ("depth", int | None, None), ("nodes", int | None, None)])


class _Finished(Struct):
    population: str


class _Running(Struct):
    genes: str
    scores: str


class _File(Struct, Generic[S]):
    """What is read of a file; the rest follows from it."""

    game: str
    provenance: _Provenance
    method: Method
    search: S
    config: dict[str, Any]
    generations: list[_Finished] = []
    running: _Running | None = None


def _tuning(file: _File[Any], kind: type[SearchSettings]) -> Tuning:
    method, search = file.method, structs.asdict(file.search)
    method.check()
    generations = []
    for number, table in enumerate(file.generations, 1):
        rows = _rows(table.population, method, f"population of generation {number}", len(EQUAL) + 1)
        generations.append(Generation(number, tuple(row[:-1] for row in rows), tuple(row[-1] for row in rows)))
    if (file.running is None) != (len(generations) == method.generations):
        raise UsageFault(f"{len(generations)} generations are finished, the method has {method.generations}")
    return Tuning(
        preset=file.provenance.preset,
        seed=file.provenance.seed,
        version=file.provenance.version,
        method=method,
        setup=Setup(
            file.game,
            kind(**{field: search[field] for field in kind.__struct_fields__}),
            config_text(file.config),
            search["depth"],
            search["nodes"],
        ),
        generations=tuple(generations),
        running=None if file.running is None else _read_running(file.running, method),
    )


def _read_running(table: _Running, method: Method) -> Running:
    genes = _rows(table.genes, method, "genes of running", len(EQUAL))
    try:
        scores = tuple(_SCORES[character] for line in table.scores.splitlines() for character in line)
    except KeyError as exc:
        raise UsageFault(f"scores of running has the character {exc}: one of {' '.join(_SCORES)}") from exc
    if len(scores) != method.games:
        raise UsageFault(f"scores of running has {len(scores)} characters: one for each of {method.games} games")
    return Running(genes, scores)


def _rows(text: str, method: Method, what: str, columns: int) -> tuple[tuple[float, ...], ...]:
    """The lines of a table, a gene each: its weights and, in a further column, its fitness."""
    lines = text.splitlines()
    if len(lines) != method.genes:
        raise UsageFault(f"{what} has {len(lines)} lines: one for each of {method.genes} genes")
    return tuple(_row(line, method.highest, f"{what}, line {number}", columns) for number, line in enumerate(lines, 1))


def _row(line: str, highest: float, what: str, columns: int) -> tuple[float, ...]:
    try:
        row = tuple(map(float, line.split()))
    except ValueError:
        row = ()
    weights, fitness = row[: len(EQUAL)], row[len(EQUAL) :]
    sound = (
        all(0 <= weight <= highest for weight in weights) and any(weights) and all(0 <= share <= 1 for share in fitness)
    )
    if len(row) != columns or not sound:
        also = " and a fitness from 0 to 1" if columns > len(EQUAL) else ""
        raise UsageFault(f"{what} is {shown(line)}: four weights from 0 to {highest:g}{also}")
    return row


def _difference(held: Any, right: Any, where: str) -> str | None:
    """The first key at which a file is not as it would be written."""
    if isinstance(held, dict) and isinstance(right, dict):
        for key in (*held, *right):
            at = f"{where}.{key}" if where else key
            if key not in right:
                return f"there is a key {shown(at)} that no tuning has"
            if key not in held:
                return f"there is no key {at}"
            if found := _difference(held[key], right[key], at):
                return found
        return None
    if isinstance(held, list) and isinstance(right, list) and len(held) == len(right):
        pairs = enumerate(zip(held, right, strict=True), 1)
        return next((found for i, pair in pairs if (found := _difference(*pair, f"{where} {i}"))), None)
    return None if held == right else f"{where} is {shown(held)}: the rest of the file says {shown(right)}"
