"""Who may come in under which name, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import Connection

from arena.host.client_registry import LISTING_CACHE_TTL_S
from arena.host.handler import AuthFailed, TooOften
from arena.server import auth, guess_limits
from arena.server.auth import Authenticator, Registration
from arena.server.guess_limits import MAX_KNOWN_ADDRESSES, GuessLimits
from arena.store.database import StoreError
from arena.store.registry import RegisteredBot, add_bots, find_registered_bot, register_bot, update_last_seen
from arena.store.retention_clock import check_clock
from arena.store.tokens import hash_token
from databases import alter
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF
from machine.timestamps import utc_now
from patience import PATIENCE_S, patient_host
from protocol.messages import Hello
from timeouts import WITHIN
from virtual_time import advance


async def refused(served: Any, **hello: str) -> tuple[str, str, int | None]:
    """The code and the text of the error with which a `hello` is answered, and the code of the close."""
    client = await served.connect()
    await client.send(type="hello", **hello)
    error = await client.expect("error")
    assert error["fatal"] is True
    return error["code"], error["message"], await client.closed()


async def welcomed(served: Any, **hello: str) -> dict[str, Any]:
    client = await served.connect()
    await client.send(type="hello", **hello)
    welcome: dict[str, Any] = await client.expect("welcome")
    return welcome


async def test_the_same_name_without_its_token_stays_out(serve: Any) -> None:
    served = await serve()
    await served.enter("ann")
    for token, code in (({}, "name_taken"), ({"token": "x" * 16}, "auth_failed")):
        told, _, close = await refused(served, bot="ANN", **token)
        assert (told, close) == (code, 4001)


async def test_a_new_bot_without_a_token_is_given_one_once(serve: Any) -> None:
    served = await serve()
    token = (await welcomed(served, bot="ann"))["token"]
    assert "token" not in await welcomed(served, bot="ann", token=token)


async def test_no_name_is_registered_by_a_token_that_nobody_could_copy(serve: Any) -> None:
    served = await serve()
    for token in (" " * 20, "abcdefghijklmnopqrstuvwxyz\r", "\ufeffabcdefghijklmnopqrstuvwxyz"):
        code, text, _ = await refused(served, bot="ann", token=token)
        assert (code, "begins or ends with what is not seen" in text) == ("auth_failed", True)
    await served.enter("ann")


async def test_with_closed_registration_a_new_name_stays_out(serve: Any) -> None:
    served = await serve(registration=Registration(open=False))
    code, _, close = await refused(served, bot="ann")
    assert (code, close) == ("not_allowed", 4001)


async def test_two_connections_of_a_new_bot_at_once_are_both_let_in(serve: Any) -> None:
    served = await serve()
    clients = [await served.connect() for _ in range(2)]
    for client in clients:
        await client.send(type="hello", bot="ann", token="a" * 16)
    for client in clients:
        assert (await client.receive())["type"] == "welcome"


async def test_a_bot_that_is_refused_is_let_go_as_soon_as_it_has_answered_the_close(
    serve: Any,
) -> None:
    served = await serve(timeouts=patient_host(close_timeout_s=PATIENCE_S))
    await served.enter("ann")
    client = await served.connect(close_timeout=None)
    await client.send(type="hello", bot="ann", token="x" * 16)
    async with asyncio.timeout(WITHIN):
        assert await client.closed() == 4001


async def test_a_store_that_fails_lets_nobody_in_and_says_to_come_back(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(connection: Connection, name: str) -> None:
        raise StoreError("arena.db: disk I/O error")

    served = await serve()
    monkeypatch.setattr("arena.server.auth.find_registered_bot", fails)
    client = await served.connect()
    await client.send(type="hello", bot="ann", token="a" * 16)
    assert await client.closed() == 1012
    assert [(error["code"], error["fatal"]) for error in client.passed] == [("unavailable", True)]


class Time:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_an_address_registers_so_many_names_in_an_hour(serve: Any) -> None:
    time = Time()
    served = await serve(registration=Registration(per_hour=2), time=time)
    for name in ("ann", "bob"):
        await served.enter(name)
    says = "too many registrations from 127.0.0.1: try again in 1800 s"
    assert await refused(served, bot="cid") == ("unavailable", says, 4004)
    await served.enter("ann")
    time.now += 1800
    await served.enter("cid")
    assert (await refused(served, bot="dan"))[0] == "unavailable"


WRONG = "x" * 16


def _give_tokens(served: Any, *names: str) -> None:
    """Register bots that never came."""
    served.store.write(add_bots, {name: hash_token(f"{name:*>16}") for name in names})


def free_guesses(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let a server that starts now allow this many wrong tokens of an address without a wait."""
    backoff = WRONG_TOKEN_BACKOFF._replace(free_failures=count)
    for policy in ("WRONG_TOKEN_BACKOFF", "ADDRESS_BACKOFF"):
        monkeypatch.setattr(guess_limits, policy, backoff)


async def test_after_a_wrong_token_too_many_an_address_waits_before_anything_is_looked_up(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_guesses(monkeypatch, 0)
    time = Time()
    served = await serve(time=time)
    _give_tokens(served, "ann")
    assert (await refused(served, bot="ann", token=WRONG))[0] == "auth_failed"
    time.now += 0.5
    with monkeypatch.context() as patched:
        patched.setattr("arena.server.auth.find_registered_bot", None)
        says = "too many wrong tokens for ANN came from 127.0.0.1: try again in 1 s"
        assert await refused(served, bot="ANN", token=WRONG) == ("unavailable", says, 4004)
    time.now += 0.5
    await served.enter("ann")


async def test_wrong_tokens_never_keep_a_bot_out_from_where_it_came_before(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_guesses(monkeypatch, 0)
    served = await serve(time=Time())
    _give_tokens(served, "ann")
    await served.enter("ann")
    for _ in range(3):
        assert (await refused(served, bot="ann", token=WRONG))[0] == "auth_failed"
    await served.enter("ann")


async def test_guesses_at_the_same_time_count_like_those_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        async def read(self, query: Any, bot: str) -> RegisteredBot:
            await asyncio.sleep(0)  # until all have asked
            return RegisteredBot(name=bot, token_hash=hash_token("right"), revoked=False, created="")

    free_guesses(monkeypatch, 1)
    store: Any = Slow()
    authenticator = Authenticator(store, Registration(), Time())
    guesses = (authenticator.identify(Hello(bot="ann", token=WRONG), "a") for _ in range(6))
    told = await asyncio.gather(*guesses, return_exceptions=True)
    assert [type(refusal) for refusal in told] == [AuthFailed] * 2 + [TooOften] * 4


def test_wrong_tokens_for_one_name_keep_no_other_bot_of_the_address_out() -> None:
    limits = GuessLimits()
    for _ in range(21):
        limits.record_failure("a", "ann", 0.0)
    waits = [limits.wait_s(address, bot, 0.0) for address, bot in (("a", "Ann"), ("a", "bob"), ("b", "ann"))]
    assert waits == [1, 0, 0]


def test_who_guesses_at_many_names_has_one_guess_for_each_further_one() -> None:
    limits = GuessLimits()
    for number in range(201):
        assert limits.wait_s("a", f"bot-{number}", 0.0) == 0
        limits.record_failure("a", f"bot-{number}", 0.0)
    assert [limits.wait_s("a", bot, 0.0) for bot in ("bot-0", "bot-200", "new")] == [1, 1, 0]


def test_of_a_bot_that_moves_the_latest_addresses_are_known() -> None:
    limits = GuessLimits()
    for number in range(MAX_KNOWN_ADDRESSES + 1):
        limits.record_login(str(number), "ann")
    for _ in range(50):
        limits.record_failure("0", "ann", 0.0)
        limits.record_failure("1", "ann", 0.0)
    assert limits.wait_s("0", "ann", 0.0) > 0
    assert limits.wait_s("1", "ann", 0.0) == 0


async def test_a_name_with_ratings_from_tournaments_is_no_prize_for_a_stranger(serve: Any) -> None:
    served = await serve()
    _know_from_tournament(served, "ann", rated=True)
    code, text, close = await refused(served, bot="Ann", token="x" * 16)
    assert (code, close) == ("name_taken", 4001)
    assert text == (
        "the name Ann has ratings from tournaments: choose another name, or `arena bot add Ann` on the arena's machine "
        "gives its token"
    )
    served.store.write(add_bots, {"ann": hash_token("y" * 16)})
    await welcomed(served, bot="ann", token="y" * 16)


def _know_from_tournament(served: Any, name: str, *, rated: bool) -> None:
    """The rows of a bot and of its match as a tournament leaves them."""
    alter(
        served.store.database,
        f"INSERT INTO bots (name, key, revoked, created) VALUES ('{name}', '{name}', 0, '')",
        "INSERT INTO seats (match, seat, bot, version, rank, reason, mu_after) "
        f"SELECT 1000 + id, 0, id, '', 1, 'win', {25.0 if rated else 'NULL'} FROM bots WHERE key = '{name}'",
    )


def _seen(served: Any, name: str, days_ago: float) -> None:
    alter(served.store.database, f"UPDATE bots SET seen = '{utc_now(days_ago=days_ago)}' WHERE key = '{name}'")


async def test_a_name_that_never_played_is_free_again_when_it_was_not_seen_for_long(serve: Any) -> None:
    served = await serve(registration=Registration(free_after_days=30))
    for name, days in (("ann", 31), ("bob", 29)):
        served.store.write(register_bot, name, hash_token(f"{name:*>16}"))
        _seen(served, name, days)
    assert (await welcomed(served, bot="ANN", token="x" * 16))["bot"] == "ANN"
    assert (await refused(served, bot="ann", token=f"{'ann':*>16}"))[0] == "auth_failed"
    assert (await refused(served, bot="bob", token="x" * 16))[0] == "auth_failed"


async def test_names_are_free_again_beside_matches_of_others(serve: Any) -> None:
    served = await serve()
    first, second, _ = await served.begun()
    await asyncio.gather(first.play(), second.play())
    _know_from_tournament(served, "cid", rated=False)
    served.store.write(register_bot, "eve", hash_token("e" * 16))
    _seen(served, "eve", 31)
    for name in ("cid", "eve"):
        assert (await welcomed(served, bot=name, token="x" * 16))["bot"] == name


async def test_no_name_is_free_again_while_the_clock_has_jumped(serve: Any) -> None:
    served = await serve()
    served.store.write(register_bot, "eve", hash_token("e" * 16))
    _seen(served, "eve", 31)
    served.store.write(check_clock)
    alter(served.store.database, f"UPDATE retention_clock SET looked = '{utc_now(days_ago=2)}'")
    assert (await refused(served, bot="eve", token="x" * 16))[0] == "auth_failed"


async def test_a_name_stays_its_owners_while_a_connection_of_it_is_there(serve: Any) -> None:
    served = await serve()
    older, _ = await served.enter("ann"), await served.enter("ann")
    assert await older.closed() == 4003
    _seen(served, "ann", 400)
    assert (await refused(served, bot="ann", token="x" * 16))[0] == "auth_failed"


@pytest.mark.virtual_time
async def test_bots_that_stay_are_noted_now_and_then(serve: Any) -> None:
    served = await serve()
    await served.enter("ann")
    await advance(auth.WRITE_DELAY_S)
    _seen(served, "ann", 400)
    set_back = utc_now()
    await advance(auth.LAST_SEEN_REFRESH_S - auth.WRITE_DELAY_S - 0.01)
    assert served.store.read(find_registered_bot, "ann").seen < set_back
    await advance(0.01 + auth.WRITE_DELAY_S)
    assert served.store.read(find_registered_bot, "ann").seen >= set_back


async def test_a_name_that_played_stays_its_owners(serve: Any) -> None:
    served = await serve()
    first, second, _ = await served.begun()
    await asyncio.gather(first.play(), second.play())
    _seen(served, "ann", 400)
    assert (await refused(served, bot="ann", token="x" * 16))[0] == "auth_failed"


@pytest.mark.parametrize("registration", [Registration(free_after_days=0), Registration(open=False)])
async def test_no_name_is_free_again_where_that_is_not_wanted(serve: Any, registration: Registration) -> None:
    served = await serve(registration=registration)
    served.store.write(register_bot, "ann", hash_token("a" * 16))
    _seen(served, "ann", 400)
    assert (await refused(served, bot="ann", token="x" * 16))[0] == "auth_failed"


async def test_a_name_that_the_operator_gave_waits_for_its_bot(serve: Any) -> None:
    served = await serve()
    served.store.write(add_bots, {"ann": hash_token("a" * 16)})
    assert (await refused(served, bot="ann", token="x" * 16))[0] == "auth_failed"
    assert served.store.read(find_registered_bot, "ann").seen is None


def _noted(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[dict[str, str]]:
    """What is written of when bots were seen."""
    written: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def note(connection: Connection, times: dict[str, str]) -> None:
        update_last_seen(connection, times)
        connection.commit()
        loop.call_soon_threadsafe(written.put_nowait, times)

    monkeypatch.setattr(auth, "update_last_seen", note)
    return written


@pytest.mark.virtual_time
async def test_when_bots_came_and_left_is_noted_for_many_of_them_in_one_write(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    written = _noted(monkeypatch)
    began = utc_now()
    for name in ("ann", "bob"):
        served.store.write(add_bots, {name: hash_token(f"{name:*>16}")})
    clients = [await served.enter("ann"), await served.enter("bob")]
    await advance(auth.WRITE_DELAY_S)
    assert written.get_nowait().keys() == {"ann", "bob"}
    came = served.store.read(find_registered_bot, "ann").seen
    assert began <= came <= utc_now()
    for name in ("ann", "bob"):
        _seen(served, name, 400)
    await clients[0].wire.close()
    await advance(auth.WRITE_DELAY_S)
    assert written.get_nowait().keys() == {"ann"}
    assert served.store.read(find_registered_bot, "ann").seen >= came
    assert served.store.read(find_registered_bot, "bob").seen < came
    await served.restart()
    assert served.store.read(find_registered_bot, "bob").seen >= came


async def test_after_an_error_of_the_arena_bots_that_are_seen_are_noted_again(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "WRITE_DELAY_S", 0.0)
    served = await serve()
    asked: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def breaks(connection: Connection, times: dict[str, str]) -> None:
        loop.call_soon_threadsafe(asked.put_nowait, *times)
        raise ZeroDivisionError

    monkeypatch.setattr(auth, "update_last_seen", breaks)
    for name in ("ann", "bob"):
        served.store.write(add_bots, {name: hash_token(f"{name:*>16}")})
        await served.enter(name)
        assert await asyncio.wait_for(asked.get(), WITHIN) == name


@pytest.mark.virtual_time
async def test_who_registers_a_name_brings_a_display_name_that_only_the_operator_changes(serve: Any) -> None:
    served = await serve()
    await welcomed(served, bot="Chloe", token="t" * 16, display=" Chloé   Dupont ")
    again = await served.connect()
    await again.send(type="hello", bot="chloe", token="t" * 16, display="perfect")
    await again.expect("welcome")
    await advance(LISTING_CACHE_TTL_S)
    await again.send(type="list")
    told = (await again.expect("listing"))["bots"]
    assert [(bot["bot"], bot.get("display")) for bot in told] == [("Chloe", "Chloé Dupont")]
    other = await served.enter("ben")
    for client in (again, other):
        await client.send(type="seek", id="s", game="nim")
    await served.matched(again, other)
    seats = (await other.expect("start"))["seats"]
    assert {seat["bot"]: seat.get("display") for seat in seats} == {"Chloe": "Chloé Dupont", "ben": None}


async def test_what_is_no_display_name_registers_nobody(serve: Any) -> None:
    served = await serve()
    code, text, _ = await refused(served, bot="zoe", display="...")
    assert (code, "display" in text) == ("bad_message", True)
    await welcomed(served, bot="zoe", token="t" * 16)
