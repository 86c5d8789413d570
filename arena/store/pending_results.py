"""Matches that are over and wait to be rated, as others before them in the schedule of their tournament are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import CompoundSelect, Connection, delete, insert, select

from arena.store.match_luck import MatchLuck
from arena.store.schema import awaiting, matches
from referee.footer import Closed
from referee.result import Result


class PendingResult(Struct, frozen=True):
    """A match of a tournament as it was handed in, with what is known of its luck; `failures` says by seat why the
    programs of bots failed in it.
    """

    closed: Closed
    luck: MatchLuck | None = None
    failures: Mapping[int, str] = {}

    @property
    def result(self) -> Result:
        """What came of it."""
        return self.closed.result


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PendingResult).decode


def save_pending(connection: Connection, batch: Iterable[PendingResult]) -> None:
    """Keep matches, each once: not those that are kept, and not those that are rated; `finish_matches` drops them."""
    for one in batch:
        result = one.result
        if connection.execute(_known(result.match)).first() is None:
            row = {"match": result.match, "tournament": result.tournament, "place": result.place, "data": _encode(one)}
            connection.execute(insert(awaiting).values(row))


def pending_of_tournament(connection: Connection, tournament: str) -> list[PendingResult]:
    """Those of a tournament, by their place in the schedule."""
    query = select(awaiting.c.data).where(awaiting.c.tournament == tournament).order_by(awaiting.c.place)
    return [_decode(data) for data in connection.execute(query).scalars()]


def rated(connection: Connection, ids: Sequence[str]) -> None:
    """These matches wait no more."""
    connection.execute(delete(awaiting).where(awaiting.c.match.in_(ids)))


def delete_for_tournament(connection: Connection, tournament: str) -> None:
    """Nobody will ask for what waits of this tournament."""
    connection.execute(delete(awaiting).where(awaiting.c.tournament == tournament))


def find_problems(
    connection: Connection, look: Callable[[Result, tuple[()], MatchLuck | None, bytes], Iterable[str]]
) -> Iterator[str]:
    """What is wrong with matches that wait, a line each; `look` compares a result with its record."""
    known = select(matches.c.id).where(matches.c.id == awaiting.c.match).exists().label("known")
    for row in connection.execute(select(awaiting, known).order_by(awaiting.c.match)):
        if row.known:
            yield f"match {row.match}: it waits to be rated, and is"
        try:
            one = _decode(row.data)
        except (msgspec.DecodeError, TypeError) as exc:
            yield f"match {row.match}, which waits to be rated: it can't be read: {exc}"
            continue
        result = one.result
        if (result.match, result.tournament, result.place) != (row.match, row.tournament, row.place):
            said = f"{result.match}, place {result.place} of {result.tournament}"
            yield f"match {row.match}, which waits to be rated: it is {said}, by what is kept of it"
            continue
        unrated = replace(result, rated=False, pool=None)
        for complaint in look(unrated, (), one.luck, one.closed.record()):
            yield f"match {row.match}, which waits to be rated: {complaint}"


def _known(match: str) -> CompoundSelect[tuple[str]]:
    """Finds a match that is kept or rated."""
    rated = select(matches.c.id).where(matches.c.id == match)
    return rated.union_all(select(awaiting.c.match).where(awaiting.c.match == match))
