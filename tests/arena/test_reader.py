"""The store as pages read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from arena.store.browsing import Search
from arena.store.reader import Reader
from arena.store.store import Store
from protocol.errors import UsageFault
from seasons import season


@pytest.fixture
def reader(tmp_path) -> Iterator[Reader]:  # type: ignore[no-untyped-def]
    with closing(Store.open(tmp_path / "arena.db")) as store:
        season(store)
        with closing(Reader.open(store.file)) as opened:
            yield opened


def test_everything_is_told_of_a_season(reader: Reader) -> None:
    assert reader.pools() == ["nim/classic", "tictactoe/classic"]
    board = reader.board("nim/classic")
    assert [row.rank for row in board.rows] == [1, 2, 3, 4]
    name = board.rows[0].bot
    profile = reader.profile(name.upper())
    assert profile is not None
    assert profile.name == name
    assert reader.history(name, "nim/classic")[-1].mu == board.rows[0].mu == board.rows[0].curve[-1]
    assert sum(row.played for row in reader.opponents(name, "nim/classic").rows) == board.rows[0].played
    assert sum(row.played for row in reader.by_seat(name, "nim/classic")) == board.rows[0].played
    assert sum(row.played for row in reader.by_version(name, "nim/classic").rows) == board.rows[0].played
    assert sum(row.played for row in reader.endings(name, "nim/classic")) == board.rows[0].played
    first = reader.search(Search(bot=name), limit=3)
    second = reader.search(Search(bot=name), after=first.next, limit=3)
    assert len({result.match for result in (*first.rows, *second.rows)}) == 6
    assert reader.match(first.rows[0].match) == first.rows[0]
    with pytest.raises(UsageFault, match="'x y' is no cursor"):
        reader.search(Search(), after="x y")
