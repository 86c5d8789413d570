"""A table of bounded Risk in a file that is mapped and not read: a position costs the few pages that it stands on."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from machine.atomic_write import in_place_of
from machine.exact.duel_shape import Shape, symmetries, turned
from protocol.errors import UsageFault
from protocol.games.risk.duel import ARMY

_HEAD = 4096
"""Bytes of JSON, spaces and a newline; then, as 32-bit integers, the heads of the rows, and values by row, by what the
side that waits holds."""
ONE = 1 << 30
"""The value of a win."""
_AT_ONCE = 1 << 20


class Spent(NamedTuple):
    """What solving took and has come to: a value is off by `error` at most, `cpu` are seconds of every processor."""

    sweeps: int
    error: float
    seconds: float
    cpu: float


_TOLD = {"key", "rows", "sha256", *Spent._fields}
"""What the JSON has."""


def place_of(shape: Shape, folder: Path) -> Path:
    """Where the table of `shape` is kept."""
    return folder / f"duel-{shape.key}.table"


def write_mapped(path: Path, shape: Shape, spent: Spent, heads: Any, values: Any) -> None:
    """Write values of which a win is `ONE`. Raises `OSError`."""
    parts = [heads, *(values[first : first + _AT_ONCE] for first in range(0, len(values), _AT_ONCE))]
    digest = hashlib.sha256()
    with in_place_of(path) as there, there.open("wb") as file:
        file.write(b" " * _HEAD)
        for part in parts:
            content = part.astype("<i4").tobytes()
            digest.update(content)
            file.write(content)
        head = {"key": shape.key, "rows": len(heads), **spent._asdict(), "sha256": digest.hexdigest()}
        file.seek(0)
        file.write(json.dumps(head).encode().ljust(_HEAD - 1) + b"\n")


class MappedValues:
    """The values in a file, and what it says of them."""

    def __init__(self, path: Path, shape: Shape) -> None:
        """Raises `OSError` where there is none to be read, `UsageFault` where it is damaged."""
        import numpy

        self.path = path
        self._head = _head(path, shape)
        self.spent = Spent(**{name: self._head[name] for name in Spent._fields})
        self.sweeps = self.spent.sweeps
        self.error = self.spent.error
        count, rows = len(shape.places), int(self._head["rows"])
        self._cap = shape.cap
        mapped = _mapped(path)
        self._heads = numpy.frombuffer(mapped, "<i4", rows, _HEAD)
        self._values = numpy.frombuffer(mapped, "<i4", rows << count, _HEAD + 4 * rows)
        self._images = symmetries(shape)

    def at(self, digits: Sequence[int]) -> float:
        """What a position is worth to the mover: by place 0 for free, 1 to the cap for the mover's troops, above it
        for the other's.
        """
        return self._opened(tuple(digits), {})

    def _opened(self, digits: tuple[int, ...], known: dict[tuple[int, ...], float]) -> float:
        """The same; while a territory is free, by what the best invasion leads to."""
        if 0 not in digits:
            return self._full(digits)
        if digits not in known:
            turn = tuple(digit and (digit + self._cap if digit <= self._cap else digit - self._cap) for digit in digits)
            after = ((*turn[:k], ARMY + self._cap, *turn[k + 1 :]) for k, digit in enumerate(digits) if not digit)
            known[digits] = max(-self._opened(position, known) for position in after)
        return known[digits]

    def _full(self, digits: Sequence[int]) -> float:
        import numpy

        down = [self._cap - digit if digit <= self._cap else 2 * self._cap - digit for digit in digits]
        waits = sum((digit > self._cap) << place for place, digit in enumerate(digits))
        number, image = min(
            (sum(d * self._cap**to for d, to in zip(down, image, strict=True)), image) for image in self._images
        )
        row = int(numpy.searchsorted(self._heads, number))
        return int(self._values[(row << len(digits)) + turned(waits, image)]) / ONE

    def check(self) -> None:
        """Read all of it. Raises `UsageFault` where a byte is not what was written."""
        with self.path.open("rb") as file:
            file.seek(_HEAD)
            if hashlib.file_digest(file, "sha256").hexdigest() != self._head["sha256"]:
                raise _damaged(self.path)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_RANDOM)  # else every page that is touched brings its neighbours from the disk
    return mapped


def _head(path: Path, shape: Shape) -> dict[str, Any]:
    """What stands in front of a table that has the length that it says."""
    try:
        with path.open("rb") as file:
            head: dict[str, Any] = json.loads(file.read(_HEAD))
        size = _HEAD + 4 * head["rows"] + (4 * head["rows"] << len(shape.places))
        if not head.keys() >= _TOLD or head["key"] != shape.key or path.stat().st_size != size:
            raise ValueError("the file has another length, or another key")
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise _damaged(path) from exc
    return head


def _damaged(path: Path) -> UsageFault:
    return UsageFault(f"{path} is damaged: remove it, then `arena-bot solve` makes it anew")
