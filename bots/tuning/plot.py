"""A plot of a tuning: the fitness of every gene, by generation. Only this module needs matplotlib."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bots.tuning.genetic import median_fitness
from bots.tuning.tuning import Tuning
from machine.atomic_write import replacing_file
from protocol.errors import ArenaFault, UsageFault

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TIMELESS_METADATA: Mapping[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
"""The metadata to save a plot with, by picture format. They leave out the time, so that equal tunings give equal
bytes."""
_SIZE_INCHES = (6.4, 4.0)
"""Width and height of a plot in inches."""
_DOT_SPACING = 0.05
"""The distance between two dots of equal fitness in a generation, where 1 is the distance between generations."""
_MAX_ROW_WIDTH = 0.8
"""The maximum width of a row of dots, as a fraction of the distance between generations. The dots of a row have equal
fitness."""


def check_plot(path: Path) -> None:
    """Raise `UsageFault` if the name of the file has no known picture format, or matplotlib is missing."""
    if _format_of(path) not in _TIMELESS_METADATA:
        raise UsageFault(f"--plot {path}: the name of a plot must end in .{', .'.join(_TIMELESS_METADATA)}")
    if find_spec("matplotlib") is None:
        raise UsageFault("--plot needs matplotlib: pip install 'bot-arena[plot]'")


def plot(tuning: Tuning, path: Path) -> None:
    """Draw the fitness in the finished generations: a dot for every gene, lines for best and median. Raise `ArenaFault`
    if the file can't be written.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    _draw(tuning, figure.add_subplot())
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    try:
        with replacing_file(path) as temporary, rc_context({"svg.hashsalt": ""}):
            figure.savefig(temporary, format=_format_of(path), metadata=_TIMELESS_METADATA[_format_of(path)])
    except OSError as exc:
        raise ArenaFault(f"{path} can't be written: {exc.strerror}") from exc


def _format_of(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def _draw(tuning: Tuning, axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    for generation in tuning.generations:
        places = [generation.number + offset for offset in _dot_offsets(generation.fitness)]
        label = "every gene" if generation.number == 1 else None
        axes.scatter(places, generation.fitness, s=5, color="0.5", linewidths=0, label=label)
    numbers = [generation.number for generation in tuning.generations]
    best = [max(generation.fitness) for generation in tuning.generations]
    medians = [median_fitness(generation) for generation in tuning.generations]
    axes.plot(numbers, best, color="C3", marker="o", markersize=4, label="best")
    axes.plot(numbers, medians, color="C0", marker="s", markersize=4, label="median")
    axes.set_title(f"{tuning.setup.game}, preset {tuning.preset}")
    axes.set_xlabel("generation")
    axes.set_ylabel(f"fitness: share of points{'' if tuning.value is None else ', less luck'}")
    axes.set_xlim(0.5, tuning.method.generations + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)


def _dot_offsets(fitness: Sequence[float]) -> list[float]:
    """Return the horizontal offset of each dot, so that dots of equal fitness stand side by side."""
    counts, seen = Counter(fitness), Counter[float]()
    offsets = []
    for value in fitness:
        step = min(_DOT_SPACING, _MAX_ROW_WIDTH / counts[value])
        offsets.append((seen[value] - (counts[value] - 1) / 2) * step)
        seen[value] += 1
    return offsets
