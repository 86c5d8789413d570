"""Of what the arena keeps an address gets its part, and never what others need."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from arena.commands import quota_limits as limits
from arena.commands.settings import ServerSettings
from arena.host import journal_weights
from arena.host.client_registry import RELEASE_BATCH_SIZE, ClientRegistry, _vacate
from arena.host.quotas import CONFIG_MEMORY_FACTOR, MATCH_BYTES, DailyQuota, Quota, QuotaLimits, Quotas
from arena.host.session import ClientSession
from arena.host.work_queue import WorkQueue
from machine.units import DAY_S, MIB
from protocol.errors import ArenaFault
from timeouts import WITHIN
from virtual_time import advance

HERE, THERE = "127.0.0.2", "127.0.0.3"
OWN = {"heaps": [1000], "take": [1]}
"""A config that is no preset, for a match that doesn't end by itself."""


def test_one_address_alone_has_half_of_all_and_each_of_many_as_much_as_is_left() -> None:
    quota = Quota(120, 1000)
    while quota.remaining("a") >= 1:
        quota.take("a", 1)
    assert quota.taken_by("a") == 60
    for address in "bcd":
        while quota.remaining(address) >= 1:
            quota.take(address, 1)
    assert [quota.taken_by(address) for address in "bcd"] == [30, 15, 8]
    assert quota.remaining("new") >= 7


def test_who_took_the_most_waits_until_there_is_as_much_left_and_what_is_given_back_may_be_taken() -> None:
    quota = Quota(10, 4)
    quota.take("a", 4)
    assert quota.remaining("a") == 0
    quota.take("b", 4)
    assert (quota.remaining("a"), quota.remaining("b"), quota.remaining("c")) == (-2, -2, 2)
    quota.take("a", -4)
    assert (quota.remaining("a"), quota.taken, quota.taken_by("a")) == (4, 4, 0)


def test_what_a_day_allows_is_had_half_at_once_and_comes_back_steadily() -> None:
    now = 0.0
    quota = DailyQuota(1000, 200, lambda: now)
    quota.take("a", 100)
    quota.take("b", 50)
    assert (quota.remaining("a"), quota.seconds_until_free("a")) == (0, 1)
    quota.take("a", 25)
    assert quota.taken_by("a") == 100
    now = DAY_S / 2
    assert (quota.taken_by("a"), quota.taken_by("b"), quota.taken) == (pytest.approx(50), 0, pytest.approx(50))
    now = 2 * DAY_S
    assert quota.taken == 0


@pytest.mark.parametrize("addresses", [1, 8, 64])
def test_in_no_day_is_more_taken_than_may_be(addresses: int) -> None:
    now, passed, taken = 0.0, [0.0], [0.0]
    quota = DailyQuota(1000, 200, lambda: now)
    names = [str(number) for number in range(addresses)]
    for _ in range(3 * 96):
        took = 0.0
        for name in names:
            amount = max(quota.remaining(name), 0.0)
            quota.take(name, amount)
            took += amount
        passed.append(now)
        taken.append(took)
        now += DAY_S / 96
    for first in range(0, len(taken), 8):
        day = sum(took for at, took in zip(passed, taken, strict=True) if 0 <= at - passed[first] < DAY_S)
        assert day <= min(1000, addresses * 200) * 1.02


def test_nobody_waits_for_longer_than_it_takes_and_what_is_held_counts_until_it_is_not() -> None:
    now = 0.0
    quota = DailyQuota(100, 100, lambda: now)
    for address in "abcd":
        quota.take(address, 20)
    seconds = quota.seconds_until_free("a")
    assert 1 < seconds <= DAY_S
    now = seconds + 1.0
    assert quota.remaining("a") == pytest.approx(0, abs=1e-2)
    quota = DailyQuota(1000, 200, lambda: now)
    quota.set_held({"a": 150.0, "b": 10.0})
    assert (quota.remaining("a"), quota.remaining("b"), quota.taken) == (-50, 90, 160)
    quota.set_held({})
    assert quota.remaining("a") == 100


def test_a_refusal_says_whose_what_how_much_and_what_to_do() -> None:
    quotas = Quotas(QuotaLimits(matches=100, matches_per_address=1, memory=MIB, stored=MIB, stored_per_address=100.0))
    assert quotas.refusal_reason(HERE) is None
    quotas.add_match("m", 0)
    quotas.charge_seat("m", 0, HERE)
    assert quotas.refusal_reason(HERE) == "127.0.0.2 has 1 matches running, the maximum is 1: finish some first"
    quotas.remove_match("m")
    quotas.charge_seek(HERE, MIB // 2)
    text = (
        "matches and seeks of 127.0.0.2 use 1 MiB of memory, the maximum is 0: finish some first, or play smaller maps"
    )
    assert quotas.refusal_reason(HERE) == text
    quotas.charge_seek(HERE, MIB // 2, refund=True)
    quotas.stored.set_held({HERE: 100.0})
    text = "the matches of 127.0.0.2 have used their disk space for a day: try again in 86400 s"
    assert quotas.refusal_reason(HERE) == text


def test_a_match_is_charged_once_to_each_address_that_plays_in_it_by_the_size_of_its_map() -> None:
    quotas = Quotas(QuotaLimits(matches=100, memory=100 * MIB), exempt={"the house"})
    quotas.add_match("m", 1000)
    for seat, address in enumerate((HERE, HERE, THERE, "the house")):
        quotas.charge_seat("m", seat, address)
    assert (quotas.matches.taken, quotas.memory.taken_by(HERE)) == (2, MATCH_BYTES + CONFIG_MEMORY_FACTOR * 1000)
    quotas.remove_match("m")
    assert (quotas.matches.taken, quotas.memory.taken) == (0, 0)
    assert quotas.split_bytes("m", 100, {}) == {}
    assert quotas.can_start_match("the house")


def test_whoever_comes_back_from_elsewhere_is_charged_no_second_time() -> None:
    quotas = Quotas(QuotaLimits(matches=100))
    quotas.add_match("m", 0)
    for seat, address in ((0, HERE), (1, THERE), (0, "127.0.0.4"), (0, "127.0.0.5")):
        quotas.charge_seat("m", seat, address)
    assert (quotas.matches.taken, quotas.matches.taken_by("127.0.0.5")) == (2, 0)


def test_each_pays_for_what_its_bot_said_and_all_for_the_rest() -> None:
    quotas = Quotas(QuotaLimits(stored=MIB))
    quotas.add_match("m", 0)
    quotas.charge_seat("m", 0, HERE)
    quotas.charge_seat("m", 1, THERE)
    parts = quotas.split_bytes("m", 1000, {0: 800})
    assert parts == {HERE: 900, THERE: 100}
    quotas.charge_record(parts, 300)
    assert (quotas.stored.taken_by(HERE), quotas.stored.taken_by(THERE)) == (pytest.approx(900), pytest.approx(100))


@pytest.mark.parametrize("little", [True, False])
def test_limits_follow_from_the_machine_and_what_is_little_is_logged(
    little: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    there = (200 if little else 4000) * MIB
    monkeypatch.setattr(limits, "memory_bytes", lambda: there)
    monkeypatch.setattr(limits, "_free_disk_bytes", lambda data: there)
    found = limits.quota_limits(ServerSettings(), 500, tmp_path)
    assert (found.matches, found.memory, found.stored) == (500, there // 4, there // 4)
    warned = [
        "matches have 50 MiB of memory: 228 small ones at most",
        f"there is little room in {tmp_path}: what is played may take 50 MiB of it in a day",
    ]
    assert caplog.messages == (warned if little else [])
    given = limits.quota_limits(ServerSettings(max_matches=90, match_memory=7, stored_per_day=9), 500, tmp_path)
    assert (given.matches, given.memory, given.stored) == (90, 7 * MIB, 9 * MIB)


def test_a_data_folder_that_is_gone_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(ArenaFault, match=r"how much room there is in .* can't be known: No such file"):
        limits.quota_limits(ServerSettings(), 500, tmp_path / "gone")


async def two(served: Any, address: str, names: str) -> list[Any]:
    return [await served.enter(name, address, slots=64) for name in names]


async def begun(served: Any, clients: list[Any], **seek: Any) -> dict[str, Any]:
    """A match of these that doesn't end by itself has begun; the `start` of one."""
    start: dict[str, Any] = await served.sit_down(*clients, **{"config": OWN, "rated": False, **seek})
    return start


@pytest.mark.virtual_time
async def test_seeks_that_came_before_wait_until_their_address_may_begin_another(serve: Any) -> None:
    served = await serve(quotas=Quotas(QuotaLimits(matches_per_address=1)))
    clients = await two(served, HERE, "ab")
    for game in ("nim", "tictactoe"):
        for client in clients:
            await client.send(type="seek", id=game, game=game, rated=False)
    await served.matched(*clients)
    starts = [await client.expect("start") for client in clients]
    for client in clients:
        await client.ready(starts[0])
    await clients[0].send(type="resign", match=starts[0]["match"])
    for client in clients:
        assert (await client.expect("end"))["match"] == starts[0]["match"]
        assert not any(message["type"] == "start" for message in client.passed)
    await served.matched(*clients)
    assert {(await client.expect("start"))["seek"] for client in clients} == {"nim", "tictactoe"} - {starts[0]["seek"]}


async def test_a_match_of_no_preset_that_grows_beyond_what_it_may_is_called_off_and_its_seats_hear_why(
    serve: Any,
) -> None:
    served = await serve(quotas=Quotas(QuotaLimits(match_bytes=5000)))
    clients = await two(served, HERE, "ab")
    await begun(served, clients)
    other = asyncio.create_task(clients[1].play())
    while (error := await clients[0].receive())["type"] != "error":
        if error["type"] == "turn":
            await clients[0].send(type="move", match=error["match"], ply=error["ply"], move=error["legal"][0])
    assert (await other)["reason"] == (await clients[0].expect("end"))["reason"] == "void"
    assert error["message"].startswith("the match is void: its record has 5")
    assert error["message"].endswith(" bytes, of 5000 at most where no preset is played")


async def test_a_preset_is_played_to_its_end_however_long_its_record(serve: Any) -> None:
    served = await serve(quotas=Quotas(QuotaLimits(match_bytes=1)))
    clients = await two(served, HERE, "ab")
    await begun(served, clients, config={}, rated=True)
    ends = await asyncio.gather(*(client.play() for client in clients))
    assert [end["reason"] for end in ends] == ["win", "win"]


@pytest.mark.virtual_time
async def test_what_was_stored_for_an_address_counts_and_is_shared_by_who_played(serve: Any) -> None:
    quotas = Quotas(QuotaLimits(stored_per_address=800.0))
    served = await serve(quotas=quotas)
    clients = [*await two(served, HERE, "a"), *await two(served, THERE, "b")]
    match = (await begun(served, clients))["match"]
    await clients[0].send(type="resign", match=match)
    for client in clients:
        await client.expect("end")
    await asyncio.sleep(0)
    assert quotas.stored.taken_by(HERE) == pytest.approx(quotas.stored.taken_by(THERE), rel=0.01)
    assert quotas.stored.taken == pytest.approx(800)
    await clients[0].send(type="seek", id="more", game="nim")
    assert "have used their disk space for a day" in (await clients[0].expect("error"))["message"]


@pytest.mark.virtual_time
async def test_of_journals_that_take_more_than_a_day_allows_the_largest_is_called_off(serve: Any) -> None:
    served = await serve(quotas=Quotas(QuotaLimits(stored_per_address=500.0)))
    clients = await two(served, HERE, "ab")
    await begun(served, clients)
    for client in clients:
        await client.heard()
    await advance(journal_weights.MEASURE_INTERVAL_S)
    error = await clients[0].expect("error")
    assert error["message"] == ("the match is void: the matches of 127.0.0.2 have used their disk space for a day")
    assert (await clients[0].expect("end"))["reason"] == "void"


def test_what_a_client_watched_and_where_it_sat_is_let_go_of_in_pieces() -> None:
    left: list[int] = []

    class Place:
        def unwatch(self, peer: object) -> None:
            left.append(-1)

        def remove_peer(self, seat: int, peer: object) -> None:
            left.append(seat)

    count, session = 2 * RELEASE_BATCH_SIZE + 3, cast(ClientSession, None)
    places: list[Any] = [Place() for _ in range(count)]
    counts = [len(left) for _ in _vacate(session, places, [(place, seat) for seat, place in enumerate(places)])]
    assert counts == [8, 16, count + 8, count + 16]
    assert left == [-1] * count + list(range(count))


async def test_a_match_is_held_by_nobody_who_watched_it_and_is_gone_or_once_it_is_over(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun(config={"heaps": [3]})
    clients: ClientRegistry = served.arena.host.clients
    for _ in range(2):
        watcher = await served.spectator()
        await watcher.send(type="watch", match=start["match"])
        await watcher.expect("turn")
    assert [list(watched) for watched in clients._watched_by_client.values()] == [[start["match"]]] * 2
    await watcher.wire.close()
    async with asyncio.timeout(WITHIN):
        while len(clients.runners[start["match"]].audience.spectators) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
    await asyncio.gather(first.play(), second.play())
    assert not any(clients._watched_by_client.values())


async def test_much_work_at_once_leaves_room_for_others_between_its_pieces() -> None:
    queue = WorkQueue()
    done: list[int] = []
    at: list[int] = []

    def work(number: int) -> None:
        done.append(number)
        _busy(0.0006)

    for number in range(10):
        queue.enqueue(lambda number=number: work(number))  # type: ignore[misc]
    queue.enqueue(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    queue.enqueue(lambda: done.append(99))
    while 99 not in done:
        await asyncio.sleep(0)
        at.append(len(done))
    assert done == [*range(10), 99]
    assert len(at) >= 5


def _busy(seconds: float) -> None:
    ends = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < ends:
        pass
