"""Tournaments that a server plays itself: what is refused, what is told of them, and what ends them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from arena.operations.names import Rename
from arena.operator.tournaments import ListTournaments, StartTournament, StopTournament, TournamentStatus
from arena.runs.schedule_limits import MAX_SERVER_MATCHES
from arena.store.result_queries import tournament_results
from arena.store.tournaments import tournaments_page
from databases import EVERY_DATABASE
from protocol.errors import BadConfig, Fault, UsageFault

pytestmark = EVERY_DATABASE

BOTS = ["ann", "bob"]


async def test_connected_bots_play_it_to_its_end_unrated(serve: Any) -> None:
    served = await serve()
    clients = [await served.enter(bot) for bot in BOTS]
    begun = await served.perform(StartTournament(bots=BOTS, game="nim", config={"preset": "sticks"}, seed="1"))
    playing = [asyncio.create_task(client.play()) for client in clients]
    await asyncio.gather(*playing)
    await served.arena.background.wait()
    assert await served.perform(ListTournaments()) == []
    (result,) = await served.archive.read(tournament_results, begun.tournament)
    assert (result.rated, result.tournament, result.place) == (False, begun.tournament, 0)
    assert [row.finished is not None for row in (await served.archive.read(tournaments_page)).rows] == [True]
    with pytest.raises(UsageFault, match="was played to its end: another seed plays new matches"):
        await served.perform(StartTournament(bots=BOTS, game="nim", config={"preset": "sticks"}, seed="1"))


async def test_what_waits_for_bots_is_told_and_ends_with_the_server_or_the_operator(serve: Any) -> None:
    served = await serve()
    first, _ = [await served.enter(bot) for bot in BOTS]
    begun = await served.perform(StartTournament(bots=BOTS, game="nim"))
    name = begun.tournament
    await first.expect("start")
    assert await served.perform(ListTournaments()) == [TournamentStatus(tournament=name, under_way=1)]
    with pytest.raises(UsageFault, match=f"the tournament {name} goes on already"):
        await served.perform(StartTournament(bots=BOTS, game="nim"))
    await served.perform(StopTournament(tournament=name))
    assert await served.perform(ListTournaments()) == []
    with pytest.raises(UsageFault, match=f"no tournament '{name}' goes on here"):
        await served.perform(StopTournament(tournament=name))
    await served.perform(StartTournament(bots=BOTS, game="nim"))  # it is under way when the server closes


async def test_a_bot_is_not_renamed_between_two_matches_of_it_and_keeps_all_its_results(serve: Any) -> None:
    served = await serve()
    for bot in BOTS:
        await served.enter(bot)
    begun = await served.perform(StartTournament(bots=BOTS, game="nim"))
    told = f"ANN plays in the tournament {begun.tournament}: rename it when that is over"
    with pytest.raises(UsageFault, match=told):
        await served.perform(Rename(name="ANN", new="anna"))
    await served.perform(StopTournament(tournament=begun.tournament))
    await served.perform(Rename(name="ANN", new="anna"))


async def test_of_two_that_start_the_same_one_at_once_only_one_does(serve: Any) -> None:
    served = await serve()
    for bot in BOTS:
        await served.enter(bot)
    asked = [served.perform(StartTournament(bots=BOTS, game="nim", seed="1")) for _ in range(2)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(answer, UsageFault) for answer in answers] == [False, True]


async def test_a_server_that_is_about_to_stop_plays_no_more_of_it_and_says_so(serve: Any) -> None:
    served = await serve()
    for bot in BOTS:
        await served.enter(bot)
    served.arena.drain(None)
    begun = await served.perform(StartTournament(bots=BOTS, game="nim"))
    await served.arena.background.wait()
    assert await served.perform(ListTournaments()) == [
        TournamentStatus(
            tournament=begun.tournament,
            under_way=0,
            fault="the server is stopping, and starts no new matches",
        )
    ]
    served.arena.undo_drain()
    assert (await served.perform(StartTournament(bots=BOTS, game="nim"))).tournament == begun.tournament


@pytest.mark.parametrize(
    ("request_", "fault", "says"),
    [
        (StartTournament(bots=["ann", "zoe"], game="nim"), UsageFault, "there is no bot called 'zoe' on this server"),
        (StartTournament(bots=["ann"], game="nim"), UsageFault, "a tournament needs two bots or more"),
        (StartTournament(bots=["ann", "ANN"], game="nim"), UsageFault, "two bots are called 'ann'"),
        (StartTournament(bots=BOTS, game="nim", format="cup"), UsageFault, "format is 'cup': one of round-robin"),
        (StartTournament(bots=BOTS, game="nim", rounds=0), UsageFault, "rounds is 0: it is 1 to 100000"),
        (
            StartTournament(bots=BOTS, game="nim", rounds=MAX_SERVER_MATCHES + 1),
            UsageFault,
            "makes 20,001 matches: at most 20,",
        ),
        (
            StartTournament(bots=BOTS, game="nim", clock="x"),
            UsageFault,
            "clock is 'x': it must be seconds and increment",
        ),
        (StartTournament(bots=BOTS, game="nim", config={"heap": [1]}), BadConfig, "heap"),
    ],
)
async def test_what_can_not_be_is_refused_and_nothing_is_opened(
    serve: Any, request_: StartTournament, fault: type[Fault], says: str
) -> None:
    served = await serve()
    for bot in BOTS:
        await served.enter(bot)
    with pytest.raises(fault, match=says):
        await served.perform(request_)
    assert await served.perform(ListTournaments()) == []
