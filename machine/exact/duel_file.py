"""Memory-mapped tables of bounded Risk: reading a position costs only a few pages."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from machine.atomic_write import replacing_file
from machine.exact.duel_shape import Shape, apply_symmetry, symmetries
from protocol.errors import UsageFault
from protocol.games.risk.duel import DEFAULT_INVASION_TROOPS

_HEADER_BYTES = 4096
"""Bytes of the header: JSON, padding and a newline.

After it come, as 32-bit integers, the numbers of the rows, and the values by row and by the territories of the mover's
opponent.
"""
WIN_VALUE = 1 << 30
"""The value of a win, in units of the stored integers."""
_WRITE_CHUNK_VALUES = 1 << 20


class SolvingStats(NamedTuple):
    """Cost and accuracy of solving: a value is off by at most `error`; `cpu` is in processor seconds."""

    sweeps: int
    error: float
    seconds: float
    cpu: float


_HEADER_FIELDS = {"key", "rows", "sha256", *SolvingStats._fields}
"""Fields of the JSON header."""


def place_of(shape: Shape, folder: Path) -> Path:
    return folder / f"duel-{shape.key}.table"


def write_mapped(path: Path, shape: Shape, stats: SolvingStats, heads: Any, values: Any) -> None:
    """Write values, scaled so that a win is `WIN_VALUE`. Raises `OSError`."""
    parts = [
        heads,
        *(values[first : first + _WRITE_CHUNK_VALUES] for first in range(0, len(values), _WRITE_CHUNK_VALUES)),
    ]
    digest = hashlib.sha256()
    with replacing_file(path) as there, there.open("wb") as file:
        file.write(b" " * _HEADER_BYTES)
        for part in parts:
            content = part.astype("<i4").tobytes()
            digest.update(content)
            file.write(content)
        head = {"key": shape.key, "rows": len(heads), **stats._asdict(), "sha256": digest.hexdigest()}
        file.seek(0)
        file.write(json.dumps(head).encode().ljust(_HEADER_BYTES - 1) + b"\n")


class MappedValues:
    """The values in a table file, with its header."""

    def __init__(self, path: Path, shape: Shape) -> None:
        """Map the file. Raises `OSError` if it cannot be read, and `UsageFault` if it is damaged."""
        import numpy

        self.path = path
        self._head = _read_header(path, shape)
        self.stats = SolvingStats(**{name: self._head[name] for name in SolvingStats._fields})
        self.sweeps = self.stats.sweeps
        self.error = self.stats.error
        count, rows = len(shape.places), int(self._head["rows"])
        self._cap = shape.cap
        mapped = _map_file(path)
        self._heads = numpy.frombuffer(mapped, "<i4", rows, _HEADER_BYTES)
        self._values = numpy.frombuffer(mapped, "<i4", rows << count, _HEADER_BYTES + 4 * rows)
        self._images = symmetries(shape)

    def value_at(self, digits: Sequence[int]) -> float:
        """Return a position's value for the mover.

        There is one digit for each place: 0 for a free territory, 1 to the troop limit for the mover's troops, the
        limit plus troops for the opponent's.
        """
        return self._value(tuple(digits), {})

    def _value(self, digits: tuple[int, ...], known: dict[tuple[int, ...], float]) -> float:
        """Return the value of a position; while a territory is free, that of the best invasion."""
        if 0 not in digits:
            return self._full_board_value(digits)
        if digits not in known:
            turn = tuple(digit and (digit + self._cap if digit <= self._cap else digit - self._cap) for digit in digits)
            after = (
                (*turn[:k], DEFAULT_INVASION_TROOPS + self._cap, *turn[k + 1 :])
                for k, digit in enumerate(digits)
                if not digit
            )
            known[digits] = max(-self._value(position, known) for position in after)
        return known[digits]

    def _full_board_value(self, digits: Sequence[int]) -> float:
        import numpy

        down = [self._cap - digit if digit <= self._cap else 2 * self._cap - digit for digit in digits]
        waits = sum((digit > self._cap) << place for place, digit in enumerate(digits))
        number, image = min(
            (sum(d * self._cap**to for d, to in zip(down, image, strict=True)), image) for image in self._images
        )
        row = int(numpy.searchsorted(self._heads, number))
        return int(self._values[(row << len(digits)) + apply_symmetry(waits, image)]) / WIN_VALUE

    def check(self) -> None:
        """Verify the checksum of the whole file. Raises `UsageFault` if it does not match."""
        with self.path.open("rb") as file:
            file.seek(_HEADER_BYTES)
            if hashlib.file_digest(file, "sha256").hexdigest() != self._head["sha256"]:
                raise _damage_fault(self.path)


def _map_file(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_RANDOM)  # else every touched page makes the kernel read its neighbours
    return mapped


def _read_header(path: Path, shape: Shape) -> dict[str, Any]:
    """Return the header of a table file after checking its key and length."""
    try:
        with path.open("rb") as file:
            head: dict[str, Any] = json.loads(file.read(_HEADER_BYTES))
        size = _HEADER_BYTES + 4 * head["rows"] + (4 * head["rows"] << len(shape.places))
        if not head.keys() >= _HEADER_FIELDS or head["key"] != shape.key or path.stat().st_size != size:
            raise ValueError("the file has another length, or another key")
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise _damage_fault(path) from exc
    return head


def _damage_fault(path: Path) -> UsageFault:
    return UsageFault(f"{path} is damaged: remove it and run `arena-bot solve` again")
