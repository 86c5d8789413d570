"""The cases of the doctor: faults, the expected reactions of the bot, and the checks."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from arena.doctor.harness import CaseFailed, Harness, run_harness
from arena.doctor.timeouts import DoctorTimeouts
from arena.doctor.websocket_proxy import FROM_ARENA, FROM_PROXY, Message
from arena.processes.process import BotCrashed
from protocol.close_codes import SUPERSEDED, TOO_MANY_CONNECTIONS
from protocol.error_codes import ILLEGAL_MOVE
from protocol.messages import MAX_STRIKES

PASSED_VERDICT, WARNING_VERDICT, FAILED_VERDICT = "passed", "warning", "failed"
"""The verdicts on a bot in a case of the doctor: it passed (`PASSED_VERDICT`), it passed with a warning
(`WARNING_VERDICT`), or it failed (`FAILED_VERDICT`).
"""
OUTAGE_S = 3.0
"""Seconds during which a bot's attempts to connect fail."""
MAX_ATTEMPTS_PER_SECOND = 10
"""Attempts to connect per second above which a bot gets a warning, because it burdens a server."""


class Finding(NamedTuple):
    """The outcome of a case of the doctor: what the bot did, and the verdict.

    `verdict` is `passed`, `warning` if the bot should do better, or `failed`.
    """

    verdict: str
    did: str


class Case(NamedTuple):
    """A case of the doctor: a fault, and the reaction that is expected of the bot.

    `done` describes the fault, `should` the reaction. `see` is the section of docs/protocol.md to read. In `should`, a
    name in braces stands for the value of that field of `DoctorTimeouts`.
    """

    name: str
    done: str
    should: str
    see: str
    examine: Callable[[Harness], Awaitable[Finding]]


CASES: list[Case] = []
"""All cases of the doctor, in the order in which they are run."""
RECONNECT_SECTION, ERRORS_SECTION = "losing-and-regaining-the-connection", "errors-and-closing"
"""Anchors of sections of docs/protocol.md that several cases refer to: `RECONNECT_SECTION` on lost connections,
`ERRORS_SECTION` on errors.
"""
RECONNECT_TEXT = "reconnect with the same hello and token, and "
"""The beginning of the text that describes the expected reaction to the loss of a connection."""

Change = Callable[[Message], Iterable[Message]]
Check = Callable[[Harness], Awaitable[Finding]]


def _case(name: str, done: str, should: str, see: str) -> Callable[[Check], Check]:
    """Add a case to `CASES`, with the decorated function as its check."""

    def add(check: Check) -> Check:
        CASES.append(Case(name, done, should, see, check))
        return check

    return add


def _change_first(kind: str, act: Callable[[Message], Sequence[Message]]) -> Change:
    """Return a function that replaces the first message of the type `kind` by what `act` returns for it.

    It passes on all other messages unchanged.
    """
    done: list[Message] = []

    def change(message: Message) -> Sequence[Message]:
        if message.get("type") != kind or done:
            return [message]
        done.append(message)
        return act(message)

    return change


@_case("match", "a match", "send ready, and answer each turn with a legal move", "a-match")
async def _check_match(harness: Harness) -> Finding:
    mark = harness.mark
    match = await harness.start_match()
    await harness.expect_moves(match, mark, 3)
    rejected = harness.find_message("rejected", by=FROM_ARENA, since=mark)
    if rejected is not None:
        raise CaseFailed(f"made a move that was rejected: {rejected.message['message']}")
    return Finding(PASSED_VERDICT, f"sent ready, and moved within {harness.slowest_move:.2f} s")


@_case("next", "the end of a match", "seek the next one, wait for one, or exit", "finding-a-match")
async def _check_next_match(harness: Harness) -> Finding:
    match = await harness.start_match()
    for opponent in harness.opponents:
        opponent.perform(opponent.protocol.resign_all())
    mark = harness.mark
    await harness.expect(
        "end",
        by=FROM_ARENA,
        since=mark,
        timeout_s=harness.timeouts.message_timeout_s,
        failure="received no end of the match",
        match=match,
    )
    again = await harness.websocket_proxy.until(
        lambda: harness.find_message("seek", since=mark) or harness.bot.exit_description,
        harness.timeouts.next_seek_timeout_s,
    )
    if again is None and harness.seeks:
        return Finding(
            WARNING_VERDICT,
            f"neither sought a match within {harness.timeouts.next_seek_timeout_s:g} s of the end nor exited",
        )
    if isinstance(again, str):
        return Finding(PASSED_VERDICT, f"exited: its process {again}")
    return Finding(
        PASSED_VERDICT,
        "sought the next match" if harness.seeks else "does not seek: it waits for matches, as in a tournament",
    )


@_case("unknown", "unknown fields and messages", "ignore them", "connection")
async def _check_unknown_fields(harness: Harness) -> Finding:
    def add(message: Message) -> Sequence[Message]:
        news = {"type": "weather", "sky": ["clear", 21.5], "match": message.get("match")}
        seats = [{**seat, "shirt": "red"} for seat in message.get("seats", ())]
        return [news, {**message, "weather": {"sky": None}, **({"seats": seats} if seats else {})}]

    mark = harness.mark
    harness.websocket_proxy.from_arena = add
    await harness.expect_moves(await harness.start_match(), mark, 2)
    return Finding(PASSED_VERDICT, "ignored them, and moved")


@_case("twice", "a repeated turn", "answer once, or repeat the same answer, and play on", RECONNECT_SECTION)
async def _check_repeated_turn(harness: Harness) -> Finding:
    mark = harness.mark
    harness.websocket_proxy.from_arena = _change_first("turn", lambda turn: [turn, turn])
    match = await harness.start_match()
    move = await harness.expect_move(match, mark)
    assert move is not None
    ply = move.message["ply"]
    await harness.expect_moves(match, harness.websocket_proxy.messages.index(move) + 1, 2)
    answers = [said.message["move"] for said in harness.find_messages("move", since=mark, match=match, ply=ply)]
    if any(answer != answers[0] for answer in answers):
        return Finding(WARNING_VERDICT, "answered it with two different moves; the second counts as a bad message")
    return Finding(PASSED_VERDICT, "answered it once" if len(answers) == 1 else "repeated its answer")


@_case("rejected", "a rejected move", "send another move for the same ply", "rejected")
async def _check_rejected_move(harness: Harness) -> Finding:
    def reject(move: Message) -> Sequence[Message]:
        rejected = {
            "type": "rejected",
            "match": move.get("match"),
            "ply": move.get("ply"),
            "code": ILLEGAL_MOVE,
            "message": "arena doctor: this rejection is a test; send another move",
            "strikes_left": MAX_STRIKES - 1,
            "clock_ms": 50_000,
        }
        harness.websocket_proxy.send_to_bot(rejected)
        return []

    mark = harness.mark
    harness.websocket_proxy.from_bot = _change_first("move", reject)
    match = await harness.start_match()
    await harness.expect_move(match, mark)
    told = await harness.expect(
        "rejected",
        by=FROM_ARENA,
        since=mark,
        timeout_s=harness.timeouts.message_timeout_s,
        failure="did not receive the rejection",
    )
    since = harness.websocket_proxy.messages.index(told)
    ply = told.message["ply"]

    def answered() -> str | None:
        if harness.find_message("move", since=since, match=match, ply=ply):
            return "moved again"
        return "resigned" if harness.find_message("resign", since=since, match=match) else harness.bot.exit_description

    did = await harness.websocket_proxy.until(answered, harness.timeouts.move_timeout_s)
    if did == "resigned":
        return Finding(WARNING_VERDICT, "resigned the match, although it could have played on")
    if did != "moved again":
        raise CaseFailed(
            f"did not move again within {harness.timeouts.move_timeout_s:g} s"
            if did is None
            else f"exited: its process {did}"
        )
    return Finding(PASSED_VERDICT, "moved again")


@_case("late", "messages 1.5 s late", "wait for them", "clocks")
async def _check_late_messages(harness: Harness) -> Finding:
    return await _expect_patience(harness, start=1.5, turn=1.5)


@_case("slow", "a start 3 s late, turns 5 s late", "wait for them", "clocks")
async def _check_slow_messages(harness: Harness) -> Finding:
    return await _expect_patience(harness, start=3.0, turn=5.0)


async def _expect_patience(harness: Harness, **delays: float) -> Finding:
    mark = harness.mark
    harness.websocket_proxy.delays = delays
    await harness.expect_moves(await harness.start_match(), mark)
    return Finding(PASSED_VERDICT, "waited, sent ready, and moved")


@_case(
    "cut-turn",
    "a connection lost on its turn",
    f"{RECONNECT_TEXT}answer the turn that is sent again",
    RECONNECT_SECTION,
)
async def _check_cut_in_turn(harness: Harness) -> Finding:
    harness.websocket_proxy.from_arena = _change_first("turn", harness.cut_connections)
    return await _expect_return_to_turn(harness)


@_case(
    "cut-move",
    "a connection lost while it sends a move",
    f"{RECONNECT_TEXT}answer the turn that is sent again",
    RECONNECT_SECTION,
)
async def _check_cut_at_move(harness: Harness) -> Finding:
    harness.websocket_proxy.from_bot = _change_first("move", harness.cut_connections)
    return await _expect_return_to_turn(harness)


async def _expect_return_to_turn(harness: Harness) -> Finding:
    match = await harness.start_match()
    line = harness.websocket_proxy.connection
    seen = harness.websocket_proxy.messages
    mark = harness.mark if line is None else next(i for i, it in enumerate(seen) if it.connection == line.number)
    closed = await harness.websocket_proxy.until(
        lambda: harness.find_message("closed", by=FROM_PROXY, since=mark), harness.timeouts.move_timeout_s
    )
    if closed is None:
        raise CaseFailed(f"did not move within {harness.timeouts.move_timeout_s:g} s of its turn")
    since = seen.index(closed)
    back = await harness.expect_return(since)
    await harness.expect_moves(match, since)
    return Finding(PASSED_VERDICT, f"reconnected after {back:.1f} s with the same hello, and moved")


async def _start_waiting(harness: Harness) -> tuple[str, int]:
    """Start a match in which the opponent does not answer its turn, and wait until the bot has made its move.

    Return the match's id, and the number of messages that were recorded up to that move.
    """
    harness.hold_turns()
    begun = harness.mark
    match = await harness.start_match()
    await harness.wait_for_opponent_turn(match)
    if harness.is_simultaneous(match):
        await harness.expect_move(match, begun)
    return match, harness.mark


async def _expect_return(harness: Harness, match: str, since: int, within: float | None = None) -> float:
    """Check that the bot reconnects, and moves after the opponent's move. Return the seconds until it reconnected."""
    back = await harness.expect_return(since, within)
    await harness.wait_for_opponent_turn(match)
    for opponent in harness.opponents:
        opponent.perform(opponent.protocol.release_turns())
    await harness.expect_moves(match, since)
    return back


@_case("cut-other", "a connection lost on the opponent's turn", f"{RECONNECT_TEXT}play on", RECONNECT_SECTION)
async def _check_cut_in_other_turn(harness: Harness) -> Finding:
    match, mark = await _start_waiting(harness)
    harness.tcp_proxy.cut()
    back = await _expect_return(harness, match, mark)
    return Finding(PASSED_VERDICT, f"reconnected after {back:.1f} s with the same hello, and moved on its turn")


@_case("cut-ready", "a connection lost before it sends ready", f"{RECONNECT_TEXT}send ready", RECONNECT_SECTION)
async def _check_cut_before_ready(harness: Harness) -> Finding:
    started: list[Message] = []

    def cut(start: Message) -> Sequence[Message]:
        started.append(start)
        return harness.cut_connections(start)

    harness.websocket_proxy.from_arena = _change_first("start", cut)
    await harness.ensure_welcomed()
    mark = harness.mark
    await harness.seek_match()
    back = await harness.expect_return(mark)
    await harness.expect_ready(started[0]["match"], mark)
    await harness.expect_moves(started[0]["match"], mark)
    return Finding(PASSED_VERDICT, f"reconnected after {back:.1f} s, sent ready, and moved")


@_case("restart", "an arena restart (1012)", f"{RECONNECT_TEXT}play on", RECONNECT_SECTION)
async def _check_restart(harness: Harness) -> Finding:
    match, mark = await _start_waiting(harness)
    for opponent in harness.opponents:
        opponent.protocol.held_turns.clear()
    await harness.server.stop()
    await harness.server.start()
    back = await _expect_return(harness, match, mark)
    return Finding(PASSED_VERDICT, f"reconnected {back:.1f} s after the restart, and played on")


@_case(
    "hang-up",
    "a server that accepts connections and closes them",
    "retry, and wait longer each time",
    RECONNECT_SECTION,
)
async def _check_hang_up(harness: Harness) -> Finding:
    match, mark = await _start_waiting(harness)
    before = harness.tcp_proxy.closed_connections
    harness.tcp_proxy.closes_new_connections = True
    return await _expect_backoff(harness, match, mark, lambda: harness.tcp_proxy.closed_connections - before)


@_case("full", "a full arena (4004)", "retry, and wait longer each time", ERRORS_SECTION)
async def _check_full_arena(harness: Harness) -> Finding:
    match, mark = await _start_waiting(harness)
    harness.websocket_proxy.closes_with = TOO_MANY_CONNECTIONS
    return await _expect_backoff(
        harness, match, mark, lambda: len([*harness.find_messages("opened", by=FROM_PROXY, since=mark)])
    )


@_case(
    "half-open",
    "a connection that falls silent",
    "notice it within {silence_timeout_s:g} s, and reconnect",
    RECONNECT_SECTION,
)
async def _check_half_open(harness: Harness) -> Finding:
    match, mark = await _start_waiting(harness)
    harness.fall_silent()
    try:
        back = await _expect_return(harness, match, mark, harness.timeouts.silence_timeout_s)
    except CaseFailed:
        if harness.find_message("hello", since=mark) or harness.bot.exit_description:
            raise
        harness.tcp_proxy.cut()
        await _expect_return(harness, match, mark)
        return Finding(
            WARNING_VERDICT,
            f"did not notice it within {harness.timeouts.silence_timeout_s:g} s, and reconnected only when it was "
            "closed",
        )
    return Finding(PASSED_VERDICT, f"noticed it, reconnected after {back:.1f} s, and moved on its turn")


async def _expect_backoff(harness: Harness, match: str, mark: int, attempts: Callable[[], int]) -> Finding:
    """Cut a bot's connection, let its attempts to connect fail for `OUTAGE_S` seconds, and judge how often it tries.

    `attempts` returns the number of attempts that the bot has made so far.
    """
    harness.tcp_proxy.cut()
    begun = time.monotonic()
    await harness.websocket_proxy.until(lambda: harness.bot.exit_description, OUTAGE_S)
    while (
        attempts() < 2
        and harness.bot.exit_description is None
        and time.monotonic() - begun < harness.timeouts.return_timeout_s
    ):
        await harness.websocket_proxy.until(lambda: harness.bot.exit_description, 0.1)
    count, seconds = attempts(), time.monotonic() - begun
    harness.tcp_proxy.closes_new_connections, harness.websocket_proxy.closes_with = False, None
    back = await _expect_return(harness, match, mark)
    verdict = WARNING_VERDICT if count > MAX_ATTEMPTS_PER_SECOND * seconds else PASSED_VERDICT
    return Finding(verdict, f"tried {count} times in {seconds:.0f} s, and reconnected {back:.1f} s after the fault")


@_case(
    "pings", "pings during all cases", "answer within {prompt_pong_timeout_s:g} s, even while it thinks", "connection"
)
async def _check_pings(harness: Harness) -> Finding:
    await harness.ensure_welcomed()
    did = f"answered every ping within {harness.websocket_proxy.slowest_pong:.2f} s"
    if harness.websocket_proxy.slowest_pong >= harness.timeouts.pong_timeout_s:
        raise CaseFailed(f"left a ping unanswered for {harness.timeouts.pong_timeout_s:g} s")
    return Finding(
        PASSED_VERDICT
        if harness.websocket_proxy.slowest_pong < harness.timeouts.prompt_pong_timeout_s
        else WARNING_VERDICT,
        did,
    )


@_case("superseded", "replacement by another connection (4003)", "stop", ERRORS_SECTION)
async def _check_superseded(harness: Harness) -> Finding:
    await harness.ensure_welcomed()
    mark = harness.mark
    await harness.websocket_proxy.close_connection(SUPERSEDED)

    def back() -> str | None:
        return harness.bot.exit_description or (
            "back" if harness.find_message("opened", by=FROM_PROXY, since=mark) else None
        )

    did = await harness.websocket_proxy.until(back, harness.timeouts.stay_away_timeout_s)
    if did == "back":
        raise CaseFailed("reconnected: two bots that do this replace each other forever")
    return Finding(PASSED_VERDICT, "did not reconnect" if did is None else f"stopped: its process {did}")


class ExaminedCase(NamedTuple):
    """A case that was run: the full text of the expected reaction, the finding on the bot, and the seconds it took."""

    case: Case
    should: str
    finding: Finding
    seconds: float


async def examine(
    command: Sequence[str], game: str, log: Path, cases: Sequence[Case], timeouts: DoctorTimeouts
) -> AsyncIterator[ExaminedCase]:
    """Run the cases on a bot. Raise `ArenaFault` if it cannot be started or never connects, or if the disk is full."""
    async with run_harness(command, game, log, timeouts) as harness:
        for case in cases:
            begun = time.monotonic()
            finding = await _examine_case(harness, case)
            if (crash := harness.bot.crash) is not None and not harness.was_welcomed:
                raise BotCrashed(f"the bot {crash.how} before it was welcomed; {crash.last_words}")
            should = case.should.format_map(dataclasses.asdict(timeouts))
            yield ExaminedCase(case, should, finding, time.monotonic() - begun)


async def _examine_case(harness: Harness, case: Case) -> Finding:
    try:
        finding = await case.examine(harness)
        await harness.undo_faults()
    except CaseFailed as fault:
        finding = Finding(FAILED_VERDICT, str(fault))
        with contextlib.suppress(CaseFailed):
            await harness.undo_faults()
    if finding.verdict == FAILED_VERDICT and harness.bot.exit_description is None:
        await harness.restart_bot()
    return finding
