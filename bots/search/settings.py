"""What a search is told: the algorithm that it runs, and what a game's may be told of its own, beside depth, nodes and
weights, which general code passes on whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

from msgspec import Struct, structs

Algorithm = Literal["expectiminimax", "alphabeta"]


class SearchSettings(Struct, frozen=True):
    """Those of a game without any. A game's own are the fields of a subclass, each one of a few names, with a default.

    Any text fits a field: `choices_of` says which are right.
    """

    about: ClassVar[Mapping[str, str]] = {}
    """By field, the line that explains it."""
    heeded: ClassVar[bool] = True
    """Whether the search does anything with them."""

    @property
    def draws(self) -> bool:
        """Whether moves are drawn, with `below`."""
        return False

    def as_map(self) -> dict[str, Any]:
        """By field, its name of the few."""
        return structs.asdict(self)


def choices_of(kind: type[SearchSettings]) -> dict[str, tuple[str, ...]]:
    """By field, the names that it may have."""
    return {field.name: get_args(field.type) for field in structs.fields(kind)}
