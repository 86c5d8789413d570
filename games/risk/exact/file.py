"""Memory-mapped tables of bounded Risk. Reading a position loads only a few pages of the file."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from games.risk.exact.shape import Shape, apply_symmetry, symmetries
from games.risk.rules.duel import DEFAULT_INVASION_TROOPS
from machine.atomic_write import replacing_file
from protocol.errors import UsageFault

_HEADER_BYTES = 4096
"""Bytes of a table file's header: JSON, padding and a newline.

The rest of the file is 32-bit integers. First come the numbers of the stored rows (see `BoardRows` in rows.py), then
the values, row after row. A row has a value for each set of territories that the mover's opponent may hold.
"""
WIN_VALUE = 1 << 30
"""The value of a win, in units of the stored integers."""
_WRITE_CHUNK_VALUES = 1 << 20
"""Number of values that are written to a table file at a time."""


class SolvingStats(NamedTuple):
    """Facts about solving a table: `error` is the maximum error of a value, `cpu` are processor seconds."""

    sweeps: int
    error: float
    seconds: float
    cpu: float


_HEADER_FIELDS = {"key", "rows", "sha256", *SolvingStats._fields}
"""The fields of the JSON header of a table file."""


def place_of(shape: Shape, folder: Path) -> Path:
    return folder / f"duel-{shape.key}.table"


def write_mapped(path: Path, shape: Shape, stats: SolvingStats, heads: Any, values: Any) -> None:
    """Write a table file, which `MappedValues` can then map into memory. `heads` has the number of each stored row, in
    ascending order. `values` are integers in which a win is `WIN_VALUE`. Raise `OSError` if that fails.
    """
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
    """The values in a table file, and the facts in its header."""

    def __init__(self, path: Path, shape: Shape) -> None:
        """Map the file. Raise `OSError` if it cannot be read, and `UsageFault` if it is damaged."""
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

        `digits` has a digit for each territory, at the index that `Shape.places` has for it: 0 for a free territory,
        the number of troops for a territory of the mover, and the troop limit plus the number of troops for one of the
        opponent.
        """
        return self._value(tuple(digits), {})

    def _value(self, digits: tuple[int, ...], known: dict[tuple[int, ...], float]) -> float:
        """Return the value of a position. While a territory is free, it is the value of the best invasion."""
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
        """Raise `UsageFault` if the checksum of the whole table file does not match."""
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
