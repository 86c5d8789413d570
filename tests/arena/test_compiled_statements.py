"""Statements are compiled once for all databases of a process, and each database has its own rows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.sql.elements import ClauseElement

from arena.store.registry import add_bots, find_bot_id
from arena.store.store import Store
from databases import EVERY_DATABASE

pytestmark = EVERY_DATABASE


def numbers_in(file: Path) -> list[int | None]:
    """The numbers of two bots in a new database in which `eve` is the first one."""
    with closing(Store.open(file)) as store:
        store.write(add_bots, {"eve": "a" * 64, file.stem: "b" * 64})
        return [store.read(find_bot_id, name) for name in ("eve", "first")]


def test_another_database_compiles_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    compile_ = ClauseElement._compiler

    def counted(statement: ClauseElement, *words: object, **named: object) -> object:
        compiled.append(statement)
        return compile_(statement, *words, **named)  # type: ignore[arg-type]

    assert None not in numbers_in(tmp_path / "first.db")
    monkeypatch.setattr(ClauseElement, "_compiler", counted)
    assert None in numbers_in(tmp_path / "second.db")
    assert compiled == []
