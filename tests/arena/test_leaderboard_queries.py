"""What pages ask of the store is what looking at every match would find; cursors hold while matches are added."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from arena.ratings.standings import MatchSample, TableRow, head_to_head_shares, score_table
from arena.store import leaderboards
from arena.store.finish import finish_matches
from arena.store.integrity_check import check_database
from arena.store.leaderboards import (
    LEADERBOARD_SORTS,
    endings_of,
    find_profile,
    leaderboard_page,
    opponents_page,
    pools_with_results,
    rating_history,
    results_by_seat,
    versions_page,
)
from arena.store.match_search import Search, search_matches
from arena.store.paging import Page, encode_cursor
from arena.store.result_queries import (
    OUTCOMES,
    LeaderboardRow,
    leaderboard_of,
    leaderboard_places,
    rated_pools,
    record_of,
    result_of,
)
from arena.store.store import Reader, Store
from arena.store.tournament_state import finish_tournament, open_tournament
from arena.store.tournaments import tournament_table, tournaments_page
from brute_force import BruteForce
from databases import EVERY_DATABASE
from protocol.errors import UsageFault
from protocol.games import game_class, game_names
from referee.result import Result
from seasons import finish, result, season
from stored_matches import storable

pytestmark = EVERY_DATABASE

BOTS = ["ann", "Bob", "cid", "dan-2", "eve", "fay"]
POOLS = ["nim/classic", "nim/sticks", "nim", "tictactoe/classic", "risk-campaign/grid", "dilemma/axelrod"]
GROUPS = [*POOLS, "nim/unrated", "tictactoe/unrated", "risk-campaign/unrated"]
REASONS = ["win", "resigned", "timeout", "illegal", "void"]
TOURNAMENTS = ["t1", "t2"]
EXAMPLES = max(2, settings.default.max_examples // 40)
"""Histories that a test stores and asks everything of: each takes a third of a second."""
HOURS = [f"2026-01-{day:02}T{hour:02}" for day in (1, 2, 3) for hour in (0, 11, 23)]


@st.composite
def played(draw: st.DrawFn) -> list[Result]:
    """A history of all kinds of matches; ends are not in the order in which they are stored."""
    results = []
    for number in range(draw(st.integers(1, 40))):
        pool = draw(st.sampled_from(POOLS))
        count = draw(st.integers(2, 4)) if pool.startswith("risk") else 2
        reason = draw(st.sampled_from(REASONS))
        seats = draw(st.permutations(BOTS))[:count]
        ranks = [1] * count if reason == "void" else [1, *(draw(st.integers(1, 2)) for _ in seats[1:])]
        made = result(
            f"m{number}",
            seats,
            draw(st.permutations(ranks)),
            pool=pool,
            rated=reason != "void" and draw(st.integers(0, 3)) > 0,
            version=draw(st.sampled_from(["", "1", "2"])),
            reason=reason,
            reasons=[reason if reason == "void" else draw(st.sampled_from(REASONS[:-1])) for _ in seats],
            finished=f"{draw(st.sampled_from(HOURS))}:{draw(st.integers(0, 59)):02}:00.000Z",
            tournament=draw(st.sampled_from([None, *TOURNAMENTS])),
            place=number,
        )
        thought = draw(st.sampled_from([None, 0, 1500]))
        if pool.startswith("dilemma") and reason != "void":
            made = with_payoffs(made, [draw(st.none() | st.integers(-9, 9)) for _ in seats])
        noted = [msgspec.structs.replace(seat, moves=3, thought_ms=thought) for seat in made.seats]
        results.append(made if thought is None else msgspec.structs.replace(made, seats=tuple(noted)))
    return results


def with_payoffs(made: Result, eighths: Sequence[int | None]) -> Result:
    rounds = [0 if one is None else 8 * (2 + one % 3) for one in eighths]
    paid = [
        {"payoff": None if one is None else one / 8, "rounds": many} for one, many in zip(eighths, rounds, strict=True)
    ]
    seats = [msgspec.structs.replace(seat, **each) for seat, each in zip(made.seats, paid, strict=True)]
    return msgspec.structs.replace(made, seats=tuple(seats))


@st.composite
def searches(draw: st.DrawFn) -> Search:
    bot = draw(st.none() | st.sampled_from([*BOTS, "nobody"]))
    return Search(
        bot=bot,
        opponent=None if bot is None else draw(st.none() | st.sampled_from(BOTS).filter(lambda name: name != bot)),
        game=draw(st.none() | st.sampled_from(["nim", "tictactoe", "go"])),
        pool=draw(st.none() | st.sampled_from(GROUPS)),
        reason=draw(st.none() | st.sampled_from(REASONS)),
        outcome=None if bot is None else draw(st.none() | st.sampled_from(OUTCOMES)),
        tournament=draw(st.none() | st.sampled_from([*TOURNAMENTS, "t3"])),
        since=draw(st.none() | st.sampled_from([*(hour[:10] for hour in HOURS), f"{HOURS[4]}:30:00.000Z"])),
        until=draw(st.none() | st.sampled_from([hour[:10] for hour in HOURS])),
    )


def stored(store: Store, results: Sequence[Result]) -> BruteForce:
    """Store them, in batches of different sizes; the plain answers."""
    ratings = []
    at, size = 0, 1
    while at < len(results):
        batch = results[at : at + size]
        ratings += [one.ratings for one in store.write(finish_matches, [storable(done) for done in batch])]
        at, size = at + size, size % 5 + 1
    return BruteForce(results, ratings)


def walked(ask: Any) -> list[Any]:
    """The rows of all pages, two at a time."""
    rows: list[Any] = []
    page: Page[Any] = ask(None)
    rows += page.rows
    while page.next is not None:
        page = ask(page.next)
        rows += page.rows
    assert page.total in (None, len(rows))
    return rows


@settings(deadline=None, max_examples=EXAMPLES, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(played(), st.lists(searches(), min_size=20, max_size=20))
def test_every_answer_is_what_a_look_at_every_match_finds(results: list[Result], asked: list[Search]) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Store.open(Path(folder) / "arena.db")) as store:
        plain = stored(store, results)
        assert list(store.iterate(check_database)) == []
        with closing(Reader.open(store.database)) as reader:
            for name in BOTS[1:4]:
                for pool in GROUPS:
                    assert reader.read(rating_history, name, pool) == plain.history(name, pool)
                    assert reader.read(results_by_seat, name, pool) == plain.by_seat(name, pool)
                    assert reader.read(endings_of, name, pool) == plain.endings(name, pool)
                    rows = walked(lambda after, of=(name, pool): reader.read(opponents_page, *of, after=after, limit=2))
                    assert rows == plain.opponents(name, pool)
                    rows = walked(lambda after, of=(name, pool): reader.read(versions_page, *of, after=after, limit=2))
                    assert rows == plain.by_version(name, pool)
            for search in asked:
                rows = walked(lambda after, search=search: reader.read(search_matches, search, after=after, limit=2))
                assert [row.match for row in rows] == [row.match for row in plain.search(search)], search
                assert rows == plain.search(search)


def ahead(one: LeaderboardRow, other: LeaderboardRow) -> bool:
    """Whether a bot is ranked above another: by payoff, those without one last."""
    if one.payoff is None or other.payoff is None:
        return one.score > other.score if one.payoff is other.payoff else one.payoff is not None
    return one.payoff.mean > other.payoff.mean + 1e-9


@settings(deadline=None, max_examples=EXAMPLES, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(played())
def test_the_board_and_the_profiles_are_those_of_the_leaderboard(results: list[Result]) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Store.open(Path(folder) / "arena.db")) as store:
        plain = stored(store, results)
        with closing(Reader.open(store.database)) as reader:
            assert reader.read(pools_with_results) == store.read(rated_pools)
            for pool in reader.read(pools_with_results):
                right = store.read(leaderboard_of, pool)
                rows = walked(lambda after, pool=pool: reader.read(leaderboard_page, pool, after=after, limit=2))
                assert [row.bot for row in rows] == [row.bot for row in right]
                assert [row.rank for row in rows] == leaderboard_places(right)
                for row, other in zip(rows, right, strict=True):
                    assert msgspec.structs.asdict(row).items() >= msgspec.structs.asdict(other).items()
                    assert row.rank == 1 + sum(ahead(better, row) for better in right)
                    mus = [point.mu for point in plain.history(row.bot, pool)]
                    assert row.curve == pytest.approx(mus[-20:], abs=0.0051)
                    profile = reader.read(find_profile, row.bot)
                    assert profile is not None
                    (standing,) = [standing for standing in profile.standings if standing.pool == pool]
                    shown = {
                        name: getattr(standing, name)
                        for name in msgspec.structs.asdict(other)
                        if name not in ("bot", "person")
                    }
                    assert shown.items() <= msgspec.structs.asdict(other).items()
                    assert (standing.rank, standing.bots) == (row.rank, len(right))
                    assert pool not in {row.pool for row in (*profile.earlier, *profile.unrated)}


@pytest.fixture
def reader(store: Store) -> Iterator[Reader]:
    with closing(Reader.open(store.database)) as opened:
        yield opened


def test_a_board_is_in_the_order_that_is_asked_for(store: Store, reader: Reader) -> None:
    season(store)
    finish(store, *(result(f"drawn{number}", ("bob", "cid"), (1, 1)) for number in range(12)))

    def board(sort: str, *, descending: bool) -> list[LeaderboardRow]:
        options = {"sort": sort, "descending": descending, "limit": 1}
        return walked(lambda after: reader.read(leaderboard_page, "nim/classic", after=after, **options))

    for sort in LEADERBOARD_SORTS:
        if sort == "payoff":
            continue
        for descending in (True, False):
            rows = board(sort, descending=descending)
            assert sorted(row.rank for row in rows) == [1, 2, 3, 4]
            keys = [(row.wins + row.draws / 2) / row.played if sort == "share" else getattr(row, sort) for row in rows]
            assert keys == sorted(keys, reverse=descending), (sort, descending)


def test_a_board_is_searched_by_a_part_of_the_name(store: Store, reader: Reader) -> None:
    season(store)
    (row,) = reader.read(leaderboard_page, "nim/classic", search="AN").rows[:1]
    assert row.bot in ("ann", "dan")
    assert reader.read(leaderboard_page, "nim/classic", search="an").total == 2
    assert reader.read(leaderboard_page, "nim/classic", search="x") == Page(rows=[], total=0)


def test_a_history_is_thinned_but_keeps_its_ends(store: Store, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 40
    monkeypatch.setattr(leaderboards, "MAX_HISTORY_POINTS", most)
    count = 3 * most + 7
    finish(store, *(result(f"m{number}") for number in range(count)))
    points = reader.read(rating_history, "ann", "nim/classic")
    assert most / 2 <= len(points) <= most
    assert [points[0].match, points[-1].match] == ["m0", f"m{count - 1}"]
    assert [point.played for point in points] == sorted({point.played for point in points})


def test_pages_are_not_shaken_by_matches_that_are_added_meanwhile(store: Store, reader: Reader) -> None:
    season(store, 9)
    first = reader.read(search_matches, Search(bot="ann"), limit=2)
    before = [done.match for done in reader.read(search_matches, Search(bot="ann")).rows]
    finish(store, *(result(f"later{number}") for number in range(5)))
    rest = reader.read(search_matches, Search(bot="ann"), after=first.next, limit=50)
    assert [done.match for done in (*first.rows, *rest.rows)] == before


def test_what_is_no_cursor_order_limit_or_time_is_said_in_a_line(reader: Reader) -> None:
    for word in ("x y", "", "AAAA", "W10", "WyJhIl0", "%00", "9" * 600, "WzFd\n"):
        with pytest.raises(
            UsageFault, match=r"is no cursor of this list: take `next` from a page of it, or leave it o"
        ):
            reader.read(search_matches, Search(), after=word)
    for beyond in (-(2**63) - 1, 2**63):
        with pytest.raises(UsageFault, match="is no cursor of this list"):
            reader.read(search_matches, Search(), after=encode_cursor((beyond,)))
    with pytest.raises(UsageFault, match="no order 'luck' of a leaderboard: one of score, payoff, bot, mu"):
        reader.read(leaderboard_page, "nim/classic", sort="luck")
    for limit in (0, 501):
        with pytest.raises(UsageFault, match=f"limit is {limit}: it is 1 to 500"):
            reader.read(search_matches, Search(), limit=limit)
    for time in ("yesterday", "2026-13-01", "9999-12-31", "2026-1-1", "2026-W05", "2026W051"):
        with pytest.raises(UsageFault, match=f"until is '{time}': it is a day, 2026-01-31, or a time"):
            reader.read(search_matches, Search(until=time))
    with pytest.raises(UsageFault, match="outcome is 'late': it is one of won, drawn, lost, void"):
        reader.read(search_matches, Search(bot="ann", outcome="late"))


@pytest.mark.parametrize("of", [{"outcome": "won"}, {"opponent": "ann"}, {"opponent": "ann", "outcome": "won"}])
def test_an_outcome_or_an_opponent_of_no_bot_is_refused_and_not_taken_for_anothers(
    reader: Reader, of: dict[str, str]
) -> None:
    with pytest.raises(UsageFault, match="but no bot is named: name the bot whose"):
        reader.read(search_matches, Search(**of))


def test_times_are_taken_in_any_zone(store: Store, reader: Reader) -> None:
    finish(store, result("m1", finished="2026-01-01T12:00:00.000Z"))
    for since, found in (
        ("2026-01-01T12:00", 1),
        ("2026-01-01T13:00+01:00", 1),
        ("2026-01-01T13:00:00Z", 0),
        ("2026-01-01T07:00:00.001-05:00", 0),
    ):
        assert len(reader.read(search_matches, Search(since=since)).rows) == found
        assert len(reader.read(search_matches, Search(until=since)).rows) == 1 - found


def test_who_is_not_there_is_none(reader: Reader) -> None:
    assert reader.read(find_profile, "ann") is None
    assert reader.read(result_of, "m1") is None
    assert reader.read(record_of, "m1") is None
    assert reader.read(tournament_table, "t1", {}) is None
    assert reader.read(rating_history, "ann", "nim/classic") == []
    assert reader.read(opponents_page, "ann", "nim/classic") == Page(rows=[], total=0)
    assert reader.read(tournaments_page) == Page(rows=[], total=0)


def test_a_tournament_is_told_as_its_report_tells_it(store: Store, reader: Reader) -> None:
    arguments = {
        "bots": ["ann=random", "Bob=x=y", "cid:depth=3", "in/dan.py"],
        "game": "nim",
        "config": {"heaps": [3, 5, 7]},
        "format": "round-robin",
        "rounds": 2,
        "paired": True,
    }
    name, seed = store.write(open_tournament, json.dumps(arguments), None)
    reasons = ["win", "timeout", "win", "void", "resigned", "win", "illegal"]
    pairs = [
        ("ann", "Bob"),
        ("cid", "ann"),
        ("Bob", "cid"),
        ("ann", "cid"),
        ("ann", "Bob"),
        ("Bob", "ann"),
        ("ann", "cid"),
    ]
    results = [
        result(
            f"m{at}",
            pair,
            (1, 1) if reason == "void" else (1, 2),
            reason=reason,
            rated=reason != "void",
            tournament=name,
            place=at,
        )
        for at, (pair, reason) in enumerate(zip(pairs, reasons, strict=True))
    ]
    finish(store, *results, result("elsewhere", ("ann", "dan")))
    told = reader.read(tournament_table, name, {})
    assert told is not None
    names = ["ann", "Bob", "cid", "dan"]
    assert (told.seed, told.arguments, told.played, told.planned) == (seed, arguments, 7, 24)
    met = [MatchSample(one, None, (one.place or 0) // 2) for one in results]
    told_of = TableRow.__struct_fields__
    reported = [[getattr(row, name) for name in told_of] for row in score_table(names, met)]
    assert [[getattr(row, name) for name in told_of] for row in told.table] == reported
    assert told.head_to_head == head_to_head_shares(names, results)
    store.write(finish_tournament, name)
    (row,) = reader.read(tournaments_page).rows
    assert (row.tournament, row.played, row.planned, row.finished is None) == (name, 7, 24, False)


def test_a_connected_bot_has_the_name_that_a_tournament_calls_it_by(store: Store, reader: Reader) -> None:
    arguments = {"bots": ["ann.py", "bob"], "game": "nim", "config": {}, "format": "round-robin", "rounds": 1}
    name, _ = store.write(open_tournament, json.dumps({**arguments, "paired": False, "afar": True}), None)
    told = reader.read(tournament_table, name, {})
    assert told is not None
    assert [row.bot for row in told.table] == ["ann.py", "bob"]


def test_tournaments_come_in_pages(store: Store, reader: Reader) -> None:
    arguments = {"bots": ["a", "b"], "game": "nim", "config": {}, "format": "gauntlet", "rounds": 1, "paired": False}
    names = {
        store.write(open_tournament, json.dumps(arguments | {"rounds": number}), None)[0] for number in range(1, 6)
    }
    rows = walked(lambda after: reader.read(tournaments_page, after=after, limit=2))
    assert {row.tournament for row in rows} == names
    assert [row.started for row in rows] == sorted((row.started for row in rows), reverse=True)


def test_no_preset_is_called_as_what_is_unrated() -> None:
    assert all("unrated" not in game_class(game).presets for game in game_names())


def test_how_long_a_move_took_is_told_by_pool_seat_and_version(store: Store, reader: Reader) -> None:
    def noted(number: int, version: str, moves: int, thought_ms: int) -> Result:
        made = result(f"m{number}", version=version)
        seats = [msgspec.structs.replace(seat, moves=moves, thought_ms=thought_ms) for seat in made.seats]
        return msgspec.structs.replace(made, seats=tuple(seats))

    finish(store, noted(1, "1", 10, 1000), noted(2, "2", 30, 9000), result("old", version="2"))
    profile = reader.read(find_profile, "ann")
    assert profile is not None
    assert [standing.ms_per_move for standing in profile.standings] == [250.0]
    assert [row.ms_per_move for row in reader.read(results_by_seat, "ann", "nim/classic")] == [250.0]
    rows = reader.read(versions_page, "ann", "nim/classic").rows
    assert [(row.version, row.ms_per_move) for row in rows] == [("2", 300.0), ("1", 100.0)]
    found = reader.read(result_of, "m1")
    assert found is not None
    assert [(seat.moves, seat.thought_ms) for seat in found.seats] == [(10, 1000), (10, 1000)]
