"""How many entries the containers have that an object holds, by where they are: what grows with names shows in it."""

from __future__ import annotations

import functools
import types
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

PACKAGES = ("arena.", "machine.", "protocol.", "referee.", "measuring.")


def entries(root: object) -> Counter[str]:
    """Count the entries of all dictionaries, sets and lists that are reached from an object of the project, by the
    class and attribute in which they are. What is reached through other libraries is not theirs to bound.
    """
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: deque[tuple[str, object]] = deque([(type(root).__name__, root)])
    while waiting:
        path, one = waiting.popleft()
        if id(one) in seen or isinstance(one, (type, types.ModuleType, str, bytes, int, float, type(None))):
            continue
        seen.add(id(one))
        if isinstance(one, (dict, set, frozenset, list, tuple, deque)):
            counts[path] += len(one)
        waiting.extend((path if name is None else f"{type(one).__name__}.{name}", held) for name, held in _held(one))
    return counts


def _held(one: object) -> Iterator[tuple[str | None, Any]]:
    if isinstance(one, dict):
        yield from ((None, held) for pair in one.items() for held in pair)
    elif isinstance(one, (set, frozenset, list, tuple, deque)):
        yield from ((None, held) for held in one)
    elif isinstance(one, functools.partial):
        yield from ((None, held) for held in (one.func, *one.args, *one.keywords.values()))
    elif isinstance(one, types.MethodType):
        yield None, one.__self__
    elif isinstance(one, types.FunctionType):
        yield from ((None, cell.cell_contents) for cell in one.__closure__ or () if _is_filled(cell))
    elif type(one).__module__.startswith(PACKAGES):
        fields = getattr(one, "__struct_fields__", None) or getattr(one, "__slots__", ())
        for name in {*getattr(one, "__dict__", {}), *fields}:
            if hasattr(one, name):
                yield name, getattr(one, name)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
