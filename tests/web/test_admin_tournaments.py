"""Tournaments that the operator's pages start: played by the server among connected bots, beside its ladder."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import pytest_asyncio

from admin_client import AdminClient, Fields
from admin_server import AdminServer, admin_server
from arena.store.result_queries import rated_pools, tournament_results
from arena.store.tournaments import TournamentRow, tournaments_page
from commands import call
from players import attending
from timeouts import WITHIN

pytestmark = pytest.mark.asyncio(loop_scope="module")
HOUSE = ("greedy", "lucky", "random")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AdminServer]:
    """One for the tests of this file, with bots that are there and one that nobody runs."""
    async with admin_server(tmp_path_factory.mktemp("cup")) as server:
        operator = await server.operator()
        assert (await operator.post("/admin/add", [("names", "nobody")])).status == 200
        async with all_there(server):
            yield server


@asynccontextmanager
async def all_there(server: AdminServer) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for bot in HOUSE:
            await stack.enter_async_context(attending(server.served.url, bot))
        yield


def asked(*bots: str, **fields: object) -> Fields:
    usual = {"pool": "nim/classic", "format": "round-robin", "rounds": 2, "clock": "10+0.1", "wait": 60, "do": "start"}
    return [*(("bot", bot) for bot in bots), *((name, str(value)) for name, value in {**usual, **fields}.items())]


async def tournaments(server: AdminServer) -> dict[str, TournamentRow]:
    return {row.tournament: row for row in (await server.read(tournaments_page, limit=50)).rows}


async def begun(operator: AdminClient, fields: Fields) -> str:
    said = await operator.told("/admin/tournaments", *fields)
    found = re.match(r"The tournament (\w+) has started", said)
    assert found, said
    return found[1]


async def finished(server: AdminServer, tournament: str) -> TournamentRow:
    await server.served.says(f"the tournament {tournament} is over")
    row = (await tournaments(server))[tournament]
    assert row.finished
    return row


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


async def test_a_tournament_is_started_seen_as_it_goes_and_has_a_page_in_the_end(server: AdminServer) -> None:
    operator = await server.operator()
    form = (await operator.get("/admin/tournaments")).text
    assert re.findall(r'name="bot" value="(\w+)"', form) == list(HOUSE)
    name = await begun(operator, asked(*HOUSE, rounds=2, seed="seven"))
    page = (await operator.get("/admin/tournaments")).text
    if f'value="{name}"' in page:  # it may be over
        assert re.search(rf"nim, round robin {name} Stop \d of 6 matches played, \d under way", words(page))
    row = await finished(server, name)
    assert (row.played, row.planned, row.seed) == (6, 6, "seven")
    after = (await operator.get("/admin/tournaments")).text
    assert f'<a class="id" href="/tournaments/{name}">' in after
    public = words((await operator.get(f"/tournaments/{name}")).text)
    assert "6 of 6 matches played, finished" in public
    assert "Rated in not rated: it was not part of the ladder" in public
    results = await server.read(tournament_results, name)
    assert all(not result.rated for result in results)
    assert await server.read(rated_pools) == []
    newest = next(one for one in await server.actions() if one.do == "start_tournament" and one.fault is None)
    assert (newest.by, newest.concerns) == ("admin page, from 127.0.0.1", ["nim", *HOUSE])


async def test_who_is_not_there_forfeits_and_says_so(server: AdminServer) -> None:
    operator = await server.operator()
    name = await begun(operator, asked("greedy", named="nobody", format="gauntlet", rounds=1, wait=1))
    await finished(server, name)
    (result,) = await server.read(tournament_results, name)
    assert {seat.bot: seat.reason for seat in result.seats}["nobody"] == "no_show"
    assert [seat.bot for seat in result.seats if seat.rank == 1] == ["greedy"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (asked("greedy"), "A tournament needs two bots or more"),
        (asked("greedy", named="greedy2"), "There is no bot called 'greedy2' on this server"),
        (asked("greedy", named="GREEDY"), "Two bots are called 'greedy'"),
        (asked(*HOUSE, rounds=0), "Rounds is 0: it is 1 to 100000"),
        (asked(*HOUSE, rounds="x"), "Rounds is 'x': it must be a whole number"),
        (asked(*HOUSE, rounds=100_000, paired="yes"), "That makes 600,000 matches: at most 20,000"),
        (asked(*HOUSE, format="cup"), "Format is 'cup': "),
        (asked(*HOUSE, clock="soon"), "Clock is 'soon': it must be seconds and increment"),
        (asked(*HOUSE, wait=0), "Wait is 0: it must be 1 to 3600 seconds"),
        (asked(*HOUSE, pool="chess/blitz"), "there is no game"),
        (asked(*HOUSE, pool="nim/none"), "none"),
        (asked(*HOUSE, settings="heaps"), "The game config has 'heaps': write KEY=VALUE"),
        (asked(*HOUSE, settings="heap=3"), "heap"),
        (asked("<b>", "greedy"), "'<b>' is no bot name"),
    ],
)
async def test_what_is_wrong_is_one_line_over_the_form_as_it_was(
    server: AdminServer, fields: Fields, says: str
) -> None:
    operator = await server.operator()
    before = set(await tournaments(server))
    answer = await operator.post("/admin/tournaments", fields)
    found = re.search(r'role="alert">(.*?)</p>', answer.text, re.DOTALL)
    assert (answer.status, found is not None) == (400, True), answer.text
    assert found is not None
    assert says.lower() in html.unescape(found[1]).lower()
    assert 'value="greedy" checked' in answer.text
    assert set(await tournaments(server)) == before


async def test_a_tournament_that_was_stopped_goes_on_with_what_it_has(server: AdminServer) -> None:
    operator = await server.operator()
    name = await begun(operator, asked("greedy", "random", rounds=300))
    async with asyncio.timeout(WITHIN):
        while not (await tournaments(server))[name].played:
            pass
    chosen = ("tournament", name)
    again = await operator.told("/admin/tournaments", *asked("greedy", "random", rounds=300))
    assert again == f"The tournament {name} goes on already: look at it, or take another seed."
    assert await operator.told("/admin/tournaments", ("do", "stop"), chosen) == f"Stopped: {name}."
    assert "no tournament" in (await operator.told("/admin/tournaments", ("do", "stop"), chosen)).lower()
    assert f'aria-label="Continue {name}"' in (await operator.get("/admin/tournaments")).text
    said = await operator.told("/admin/tournaments", ("do", "go-on"), chosen)
    assert re.fullmatch(rf"The tournament {name} has started: \d+ of its matches had been played\.", said)
    await operator.told("/admin/tournaments", ("do", "stop"), chosen)
    assert (
        "these pages started no tournament 'none'"
        in (await operator.told("/admin/tournaments", ("do", "go-on"), ("tournament", "none"))).lower()
    )


async def test_a_tournament_outlives_a_restart_of_the_server_and_its_records_verify(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = tmp_path_factory.mktemp("restart")
    async with admin_server(data) as server:
        async with all_there(server):
            pass
        operator = await server.operator()
        name = await begun(operator, asked(*HOUSE, rounds=2, settings="heaps=2,2", wait=3600))  # for all of them
    async with admin_server(data) as server, all_there(server):
        operator = await server.operator()
        assert "stopped." in words((await operator.get("/admin/tournaments")).text)
        await operator.told("/admin/tournaments", ("do", "go-on"), ("tournament", name))
        row = await finished(server, name)
        assert (row.played, row.arguments["config"]["heaps"]) == (6, [2, 2])
    verified = call("arena", "replay", "verify", "--data", str(data))
    assert verified.code == 0, verified.out
    checked = call("arena", "db", "check", "--data", str(data))
    assert checked.code == 0, checked.out
