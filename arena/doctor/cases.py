"""The cases of the doctor: faults, the expected reactions of the bot, and the checks."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from arena.doctor.harness import Failed, Harness, harness_of
from arena.doctor.timeouts import DoctorTimeouts
from arena.doctor.websocket_proxy import ARENA, RELAY, Message
from arena.processes.process import BotCrashed
from protocol.close_codes import SUPERSEDED, TOO_MANY
from protocol.error_codes import ILLEGAL_MOVE
from protocol.messages import MAX_STRIKES

PASSED, WARNING, FAILED = "passed", "warning", "failed"
DOWN_FOR = 3.0
MANY_ATTEMPTS = 10
"""Connection attempts a second above which a bot is a burden to others."""


class Finding(NamedTuple):
    """The outcome of a case: `verdict` is `passed`, `warning` if the bot should do better, or `failed`."""

    verdict: str
    did: str


class Case(NamedTuple):
    """A fault: `done` is what happens to the bot, `should` the expected reaction, `see` its section in
    docs/protocol.md.

    Names in braces in `should` are fields of `DoctorTimeouts`.
    """

    name: str
    done: str
    should: str
    see: str
    examine: Callable[[Harness], Awaitable[Finding]]


Change = Callable[[Message], Iterable[Message]]


def _first(kind: str, act: Callable[[Message], Sequence[Message]]) -> Change:
    """Return a change that applies `act` to the first message of a kind, and leaves all others alone."""
    done: list[Message] = []

    def change(message: Message) -> Sequence[Message]:
        if message.get("type") != kind or done:
            return [message]
        done.append(message)
        return act(message)

    return change


async def _plain(harness: Harness) -> Finding:
    mark = harness.mark
    match = await harness.match()
    await harness.moves(match, mark, 3)
    rejected = harness.said("rejected", by=ARENA, since=mark)
    if rejected is not None:
        raise Failed(f"made a move that was rejected: {rejected.message['message']}")
    return Finding(PASSED, f"was ready, and moved within {harness.slowest_move:.2f} s")


async def _next_match(harness: Harness) -> Finding:
    match = await harness.match()
    for opponent in harness.opponents:
        await opponent.resign()
    mark = harness.mark
    await harness.expect(
        "end",
        by=ARENA,
        since=mark,
        within=harness.timeouts.message_timeout_s,
        instead="was not told the end",
        match=match,
    )
    again = await harness.relay.until(
        lambda: harness.said("seek", since=mark) or harness.bot.ended, harness.timeouts.next_seek_timeout_s
    )
    if again is None and harness.seeks:
        return Finding(
            WARNING, f"sought nothing within {harness.timeouts.next_seek_timeout_s:g} s of the end, and did not leave"
        )
    if isinstance(again, str):
        return Finding(PASSED, f"left: its process {again}")
    return Finding(
        PASSED, "sought the next match" if harness.seeks else "seeks nothing: it waits for matches, as in a tournament"
    )


async def _unknown(harness: Harness) -> Finding:
    def add(message: Message) -> Sequence[Message]:
        news = {"type": "weather", "sky": ["clear", 21.5], "match": message.get("match")}
        seats = [{**seat, "shirt": "red"} for seat in message.get("seats", ())]
        return [news, {**message, "weather": {"sky": None}, **({"seats": seats} if seats else {})}]

    mark = harness.mark
    harness.relay.from_arena = add
    await harness.moves(await harness.match(), mark, 2)
    return Finding(PASSED, "passed them over, and moved")


async def _twice(harness: Harness) -> Finding:
    mark = harness.mark
    harness.relay.from_arena = _first("turn", lambda turn: [turn, turn])
    match = await harness.match()
    move = await harness.move(match, mark)
    assert move is not None
    ply = move.message["ply"]
    await harness.moves(match, harness.relay.seen.index(move) + 1, 2)
    answers = [said.message["move"] for said in harness.all_said("move", since=mark, match=match, ply=ply)]
    if any(answer != answers[0] for answer in answers):
        return Finding(WARNING, "answered it with two different moves; the second counts as a bad message")
    return Finding(PASSED, "answered it once" if len(answers) == 1 else "repeated its answer")


async def _delayed(delays: dict[str, float], harness: Harness) -> Finding:
    mark = harness.mark
    harness.relay.delays = delays
    await harness.moves(await harness.match(), mark)
    return Finding(PASSED, "waited, was ready, and moved")


async def _cut_in_its_turn(harness: Harness) -> Finding:
    harness.relay.from_arena = _first("turn", harness.cut)
    return await _comes_back_to_its_turn(harness)


async def _cut_as_it_moves(harness: Harness) -> Finding:
    harness.relay.from_bot = _first("move", harness.cut)
    return await _comes_back_to_its_turn(harness)


async def _comes_back_to_its_turn(harness: Harness) -> Finding:
    match = await harness.match()
    line = harness.relay.line
    seen = harness.relay.seen
    mark = harness.mark if line is None else next(i for i, it in enumerate(seen) if it.line == line.number)
    closed = await harness.relay.until(
        lambda: harness.said("closed", by=RELAY, since=mark), harness.timeouts.move_timeout_s
    )
    if closed is None:
        raise Failed(f"did not move within {harness.timeouts.move_timeout_s:g} s of its turn")
    since = seen.index(closed)
    back = await harness.comes_back(since)
    await harness.moves(match, since)
    return Finding(PASSED, f"came back after {back:.1f} s with the same hello, and moved")


async def _cut_before_ready(harness: Harness) -> Finding:
    started: list[Message] = []

    def cut(start: Message) -> Sequence[Message]:
        started.append(start)
        return harness.cut(start)

    harness.relay.from_arena = _first("start", cut)
    await harness.present()
    mark = harness.mark
    await harness.summon()
    back = await harness.comes_back(mark)
    await harness.ready(started[0]["match"], mark)
    await harness.moves(started[0]["match"], mark)
    return Finding(PASSED, f"came back after {back:.1f} s, was ready, and moved")


async def _waiting(harness: Harness) -> tuple[str, int]:
    """Return a match in which the opponent holds its turn (the bot has made its move), and the mark of that moment."""
    harness.hold()
    begun = harness.mark
    match = await harness.match()
    await harness.until_opponent_moves(match)
    if harness.all_move_at_once(match):
        await harness.move(match, begun)
    return match, harness.mark


async def _plays_on(harness: Harness, match: str, since: int, within: float | None = None) -> float:
    """Check that the bot returns and plays on after the opponent's move; return the seconds until it was back."""
    back = await harness.comes_back(since, within)
    await harness.until_opponent_moves(match)
    for opponent in harness.opponents:
        await opponent.go_on()
    await harness.moves(match, since)
    return back


async def _cut_meanwhile(harness: Harness) -> Finding:
    match, mark = await _waiting(harness)
    harness.cable.cut()
    back = await _plays_on(harness, match, mark)
    return Finding(PASSED, f"came back after {back:.1f} s with the same hello, and moved in its turn")


async def _half_open(harness: Harness) -> Finding:
    match, mark = await _waiting(harness)
    harness.fall_silent()
    try:
        back = await _plays_on(harness, match, mark, harness.timeouts.silence_timeout_s)
    except Failed:
        if harness.said("hello", since=mark) or harness.bot.ended:
            raise
        harness.cable.cut()
        await _plays_on(harness, match, mark)
        return Finding(
            WARNING,
            f"did not notice it within {harness.timeouts.silence_timeout_s:g} s, and came back when it was closed",
        )
    return Finding(PASSED, f"noticed it, came back after {back:.1f} s, and moved in its turn")


async def _restart(harness: Harness) -> Finding:
    match, mark = await _waiting(harness)
    for opponent in harness.opponents:
        opponent.held.clear()
    await harness.server.stop()
    await harness.server.start()
    back = await _plays_on(harness, match, mark)
    return Finding(PASSED, f"came back {back:.1f} s after the restart, and played on")


async def _hangs_up(harness: Harness) -> Finding:
    match, mark = await _waiting(harness)
    before = harness.cable.hung_up
    harness.cable.hangs_up = True
    return await _tries_again(harness, match, mark, lambda: harness.cable.hung_up - before)


async def _full(harness: Harness) -> Finding:
    match, mark = await _waiting(harness)
    harness.relay.closes_with = TOO_MANY
    return await _tries_again(harness, match, mark, lambda: len([*harness.all_said("opened", by=RELAY, since=mark)]))


async def _tries_again(harness: Harness, match: str, mark: int, attempts: Callable[[], int]) -> Finding:
    """Cut a bot's connection, let its attempts to connect fail for a while, and judge how often it tries."""
    harness.cable.cut()
    begun = time.monotonic()
    await harness.relay.until(lambda: harness.bot.ended, DOWN_FOR)
    while attempts() < 2 and harness.bot.ended is None and time.monotonic() - begun < harness.timeouts.return_timeout_s:
        await harness.relay.until(lambda: harness.bot.ended, 0.1)
    count, seconds = attempts(), time.monotonic() - begun
    harness.cable.hangs_up, harness.relay.closes_with = False, None
    back = await _plays_on(harness, match, mark)
    verdict = WARNING if count > MANY_ATTEMPTS * seconds else PASSED
    return Finding(verdict, f"tried {count} times in {seconds:.0f} s, and came back {back:.1f} s after that")


async def _rejected(harness: Harness) -> Finding:
    def reject(move: Message) -> Sequence[Message]:
        rejected = {
            "type": "rejected",
            "match": move.get("match"),
            "ply": move.get("ply"),
            "code": ILLEGAL_MOVE,
            "message": "arena doctor: this move is rejected to see what you do",
            "strikes_left": MAX_STRIKES - 1,
            "clock_ms": 50_000,
        }
        harness.relay.tell(rejected)
        return []

    mark = harness.mark
    harness.relay.from_bot = _first("move", reject)
    match = await harness.match()
    await harness.move(match, mark)
    told = await harness.expect(
        "rejected", by=ARENA, since=mark, within=harness.timeouts.message_timeout_s, instead="was not told so"
    )
    since = harness.relay.seen.index(told)
    ply = told.message["ply"]

    def answered() -> str | None:
        if harness.said("move", since=since, match=match, ply=ply):
            return "moved again"
        return "resigned" if harness.said("resign", since=since, match=match) else harness.bot.ended

    did = await harness.relay.until(answered, harness.timeouts.move_timeout_s)
    if did == "resigned":
        return Finding(WARNING, "resigned the match, which it could have played on")
    if did != "moved again":
        raise Failed(
            f"did not move again within {harness.timeouts.move_timeout_s:g} s"
            if did is None
            else f"ended: its process {did}"
        )
    return Finding(PASSED, "moved again")


async def _pings(harness: Harness) -> Finding:
    await harness.present()
    did = f"answered within {harness.relay.slowest_pong:.2f} s at the slowest"
    if harness.relay.slowest_pong >= harness.timeouts.pong_timeout_s:
        raise Failed(f"left a ping unanswered for {harness.timeouts.pong_timeout_s:g} s")
    return Finding(PASSED if harness.relay.slowest_pong < harness.timeouts.prompt_pong_timeout_s else WARNING, did)


async def _superseded(harness: Harness) -> Finding:
    await harness.present()
    mark = harness.mark
    await harness.relay.hang_up(SUPERSEDED)

    def back() -> str | None:
        return harness.bot.ended or ("back" if harness.said("opened", by=RELAY, since=mark) else None)

    did = await harness.relay.until(back, harness.timeouts.stay_away_timeout_s)
    if did == "back":
        raise Failed("came back: two that both do so throw each other out for ever")
    return Finding(PASSED, "stayed away" if did is None else f"stopped: its process {did}")


LOST, ERRORS = "losing-and-regaining-the-connection", "errors-and-closing"
COMES_BACK = "connect again, say the same hello with the same token, "
COURSE = (
    Case("match", "a match", "be ready, and answer each turn with a legal move", "a-match", _plain),
    Case("next", "the end of a match", "seek the next one, wait for one, or leave", "finding-a-match", _next_match),
    Case("unknown", "fields and messages it does not know", "ignore them", "connection", _unknown),
    Case("twice", "a turn that is told twice", "answer once, or the same again, and play on", LOST, _twice),
    Case("rejected", "a move that is rejected", "send a move for the same ply again", "rejected", _rejected),
    Case(
        "late",
        "messages that are 1.5 s late",
        "wait for them",
        "clocks",
        partial(_delayed, {"start": 1.5, "turn": 1.5}),
    ),
    Case(
        "slow",
        "a start 3 s late, turns 5 s late",
        "wait for them",
        "clocks",
        partial(_delayed, {"start": 3.0, "turn": 5.0}),
    ),
    Case("cut-turn", "a connection cut in its turn", f"{COMES_BACK}answer the turn told again", LOST, _cut_in_its_turn),
    Case("cut-move", "a connection cut as it moves", f"{COMES_BACK}answer the turn told again", LOST, _cut_as_it_moves),
    Case("cut-other", "a connection cut in the other's turn", f"{COMES_BACK}play on", LOST, _cut_meanwhile),
    Case("cut-ready", "a connection cut before it is ready", f"{COMES_BACK}be ready", LOST, _cut_before_ready),
    Case("restart", "a restart of the arena (1012)", f"{COMES_BACK}play on", LOST, _restart),
    Case("hang-up", "a peer that accepts and closes", "try again, waiting longer each time", LOST, _hangs_up),
    Case("full", "an arena that is full (4004)", "try again, waiting longer each time", ERRORS, _full),
    Case("half-open", "a connection that falls silent", "notice it within {silence_timeout_s:g} s", LOST, _half_open),
    Case(
        "pings",
        "pings all the while",
        "answer within {prompt_pong_timeout_s:g} s, thinking or not",
        "connection",
        _pings,
    ),
    Case("superseded", "being replaced by another (4003)", "stop", ERRORS, _superseded),
)


class Examined(NamedTuple):
    """A case, the expected reaction, its finding, and the seconds it took."""

    case: Case
    should: str
    finding: Finding
    seconds: float


async def examine(
    command: Sequence[str], game: str, log: Path, cases: Sequence[Case], timeouts: DoctorTimeouts
) -> AsyncIterator[Examined]:
    """Run the cases on a bot. Raises `ArenaFault` if it cannot be started or never connects, or if the disk is full."""
    async with harness_of(command, game, log, timeouts) as harness:
        for case in cases:
            begun = time.monotonic()
            finding = await _examine(harness, case)
            if (crash := harness.bot.crash) is not None and not harness.was_welcomed:
                raise BotCrashed(f"the bot {crash.how} before it was welcomed; {crash.last_words}")
            should = case.should.format_map(dataclasses.asdict(timeouts))
            yield Examined(case, should, finding, time.monotonic() - begun)


async def _examine(harness: Harness, case: Case) -> Finding:
    try:
        finding = await case.examine(harness)
        await harness.settle()
    except Failed as fault:
        finding = Finding(FAILED, str(fault))
        with contextlib.suppress(Failed):
            await harness.settle()
    if finding.verdict == FAILED and harness.bot.ended is None:
        await harness.renew()
    return finding
