"""The owners of hosted bots get the logs of a planned tournament's matches, as of those on the ladder."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from msgspec.structs import replace

from arena.hosting.limits import SubmissionLimits
from arena.hosting.submission import read_source_file
from arena.operations.planned_tournaments import PlannedTournaments
from arena.operator.hosted_matches import HostedSeat, MatchOrder
from arena.ratings.tournament_pairing import Pairing
from arena.runner import tournament_match
from arena.runner.box import Boxes
from arena.runner.entrants import built_plan
from arena.runner.hand_in import folder_of_version
from arena.runner.tournament_match import play_order
from arena.runner.version_cache import VersionCache
from arena.runs.hosted_players import RunnerPlayers, unpack_report
from arena.runs.job import MatchJob, MatchReport
from arena.store.async_store import AsyncStore
from arena.store.bot_logs import list_logs
from arena.store.entrants import HostedEntrant
from arena.store.store import Store
from hosted_bots import register
from hosted_orders import ORDER, played_at_once
from plans import plan
from protocol.bot_launch import BotSpec

SOURCE = read_source_file("ann.sh", b"echo", ["nim"], ["nim"], SubmissionLimits())
ANN = HostedSeat(bot="Ann", number=3, digest=SOURCE.digest)
RANDOM = HostedSeat(bot="random", specified=BotSpec(name="random", bot="random", seed=""))


def leave_log(logs: Path) -> None:
    logs.mkdir(parents=True)
    (logs / f"{ORDER.match}.json").write_text(json.dumps({"match": ORDER.match, "text": "KeyError: 3\n"}))


def left_logs(folder: Path) -> list[str]:
    return [str(file.relative_to(folder)) for file in folder.glob("matches/*/*")]


class Host:
    """A host in place of `TournamentHost`. The client of Ann leaves a log if it was told where, and then fails."""

    def __init__(self, job: MatchJob, folder: Path) -> None:
        self._job, self._folder = job, folder

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def play(self, pairing: Pairing) -> MatchReport:
        words = list(self._job.plan.contestants[0].command)
        (self._folder / "Ann.log").write_text("Ann: connected\n")
        if "--match-logs" in words:
            leave_log(Path(words[words.index("--match-logs") + 1]))
        return MatchReport(unpack_report(played_at_once(ORDER), ORDER.match).closed, failures={0: "it crashed"})


@pytest.mark.parametrize(
    ("logged", "left", "output"),
    [
        (True, ["matches/3.ann/t1-00000.json"], b"Ann: connected\nKeyError: 3\n"),
        (False, [], b"Ann: connected\n"),
    ],
    ids=["planned", "of arena tournament"],
)
async def test_a_runner_hands_in_what_a_program_wrote_in_a_planned_tournament_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: bool, left: list[str], output: bytes
) -> None:
    monkeypatch.setattr(tournament_match, "TournamentHost", Host)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    boxes = Boxes(memory_mib=64)
    versions = VersionCache(tmp_path / "versions", boxes, AsyncMock(return_value=SOURCE.pack()))
    order = replace(ORDER, seats=[ANN, RANDOM], logged=logged)
    report = unpack_report(await play_order(order, versions, boxes, [0, 1], tmp_path), order.match)
    assert left_logs(tmp_path) == left
    assert report.output == (("Ann", output),)


@pytest.mark.parametrize("logged", [True, False])
async def test_the_order_of_a_match_says_whether_it_is_logged(tmp_path: Path, logged: bool) -> None:
    orders: list[MatchOrder] = []

    async def play(order: MatchOrder) -> bytes:
        orders.append(order)
        return played_at_once(order)

    here = plan(bots=["ann", "bob"], rounds=1, rated=False)
    entrants = [HostedEntrant(bot=bot, number=1, digest=bot[0] * 64, since="") for bot in ("ann", "bob")]
    players = RunnerPlayers(here, entrants, tmp_path, play, logged=logged)
    await players.play_match(here.schedule([])[0])
    assert [order.logged for order in orders] == [logged]


async def test_the_server_stores_the_logs_of_matches_that_it_plays_itself_and_a_damaged_one_is_in_no_ones_way(
    tmp_path: Path,
) -> None:
    register(tmp_path, "Ann")
    for number in (2, 3):
        leave_log(folder_of_version(tmp_path, "Ann", number))
    (folder_of_version(tmp_path, "Ann", 2) / f"{ORDER.match}.json").write_text("{")
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        store = AsyncStore(opened)
        await PlannedTournaments(store, tmp_path, list)._store_logs(tmp_path)
        (stored,) = await store.read(list_logs, "Ann", "", 9)
        await store.drain()
    assert (stored.number, stored.log.match, stored.log.text) == (3, ORDER.match, "KeyError: 3\n")
    assert left_logs(tmp_path) == []


def test_a_program_that_is_built_for_the_server_itself_leaves_logs_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    entrants = [HostedEntrant(bot="Ann", number=3, digest=SOURCE.digest, since="")]
    read = AsyncMock(return_value=SOURCE.pack())
    with built_plan(plan(bots=["Ann", "bob"]), entrants, tmp_path / "programs", read, 64, 1, tmp_path) as built:
        words = list(built.contestants[0].command)
    assert words[words.index("--match-logs") + 1] == str(folder_of_version(tmp_path, "Ann", 3))
