"""Answers that are made here; all others are values of the store, of the ladder and of records as they are."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from arena.store.view_models import BoardRow, Page

T = TypeVar("T")


class Rows(Struct, Generic[T], frozen=True, kw_only=True):
    """A list that is told whole."""

    rows: list[T]


class Leaderboard(Page[BoardRow], frozen=True, kw_only=True):
    """A page of the leaderboard of a pool."""

    game: str
    pool: str


class PoolRow(Struct, frozen=True, kw_only=True):
    """A pool in which matches were rated."""

    game: str
    pool: str


class PresetRow(Struct, frozen=True, kw_only=True):
    """A config on which matches are rated, whole as in `start`; `pool` is where."""

    preset: str
    pool: str
    seats: int
    config: dict[str, Any]


class GameRow(Struct, frozen=True, kw_only=True):
    """A game that can be played."""

    game: str
    presets: list[PresetRow]
