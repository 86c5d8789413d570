"""The course: what is done to a bot, what it should do, and how that is seen."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from arena.doctor.checkup import BACK_WITHIN, MOVE_WITHIN, TOLD_WITHIN, Checkup, Failed
from arena.doctor.websocket_proxy import ARENA, GIVE_UP_PING, Message
from protocol.close_codes import SUPERSEDED, TOO_MANY
from protocol.error_codes import ILLEGAL_MOVE
from protocol.messages import MAX_STRIKES

PASSED, WARNING, FAILED = "passed", "warning", "failed"
NOTICES_WITHIN = 30.0
"""Seconds in which a bot should notice that nothing comes through any more."""
DOWN_FOR = 3.0
MANY_ATTEMPTS = 10
"""To connect, a second: more is a burden to others."""
STAYS_AWAY_FOR = 6.0
"""Seconds in which a bot would have come back, as it waits 5 s at most."""
PROMPT_PONG = 5.0


class Finding(NamedTuple):
    """What came of a case: `verdict` is `passed`, `warning` where it should do better, or `failed`."""

    verdict: str
    did: str


class Case(NamedTuple):
    """A fault: `done` is what happens to the bot, `should` what it has to do, `see` where docs/protocol.md says so."""

    name: str
    done: str
    should: str
    see: str
    examine: Callable[[Checkup], Awaitable[Finding]]


Change = Callable[[Message], Iterable[Message]]


def _first(kind: str, act: Callable[[Message], Sequence[Message]]) -> Change:
    """Do something with the first message of a kind, and nothing with others."""
    done: list[Message] = []

    def change(message: Message) -> Sequence[Message]:
        if message.get("type") != kind or done:
            return [message]
        done.append(message)
        return act(message)

    return change


async def _plain(exam: Checkup) -> Finding:
    mark = exam.mark
    match = await exam.match()
    await exam.moves(match, mark, 3)
    rejected = exam.said("rejected", by=ARENA, since=mark)
    if rejected is not None:
        raise Failed(f"made a move that was rejected: {rejected.message['message']}")
    return Finding(PASSED, f"was ready, and moved within {exam.slowest_move:.2f} s")


async def _next_match(exam: Checkup) -> Finding:
    match = await exam.match()
    for opponent in exam.opponents:
        await opponent.resign()
    mark = exam.mark
    await exam.expect("end", by=ARENA, since=mark, within=TOLD_WITHIN, instead="was not told the end", match=match)
    again = await exam.relay.until(lambda: exam.said("seek", since=mark) or exam.patient.ended, TOLD_WITHIN)
    if again is None and exam.seeks:
        return Finding(WARNING, f"sought nothing within {TOLD_WITHIN:g} s of the end, and did not leave")
    if isinstance(again, str):
        return Finding(PASSED, f"left: its process {again}")
    return Finding(
        PASSED, "sought the next match" if exam.seeks else "seeks nothing: it waits for matches, as in a tournament"
    )


async def _unknown(exam: Checkup) -> Finding:
    def add(message: Message) -> Sequence[Message]:
        news = {"type": "weather", "sky": ["clear", 21.5], "match": message.get("match")}
        seats = [{**seat, "shirt": "red"} for seat in message.get("seats", ())]
        return [news, {**message, "weather": {"sky": None}, **({"seats": seats} if seats else {})}]

    mark = exam.mark
    exam.relay.from_arena = add
    await exam.moves(await exam.match(), mark, 2)
    return Finding(PASSED, "passed them over, and moved")


async def _twice(exam: Checkup) -> Finding:
    mark = exam.mark
    exam.relay.from_arena = _first("turn", lambda turn: [turn, turn])
    match = await exam.match()
    move = await exam.move(match, mark)
    assert move is not None
    ply = move.message["ply"]
    await exam.moves(match, exam.relay.seen.index(move) + 1, 2)
    answers = [said.message["move"] for said in exam.all_said("move", since=mark, match=match, ply=ply)]
    if any(answer != answers[0] for answer in answers):
        return Finding(WARNING, "answered it with two different moves; the second counts as a bad message")
    return Finding(PASSED, "answered it once" if len(answers) == 1 else "repeated its answer")


async def _late(exam: Checkup) -> Finding:
    return await _delayed(exam, {"start": 1.5, "turn": 1.5})


async def _slow(exam: Checkup) -> Finding:
    return await _delayed(exam, {"start": 3.0, "turn": 5.0})


async def _delayed(exam: Checkup, delays: dict[str, float]) -> Finding:
    mark = exam.mark
    exam.relay.delays = delays
    await exam.moves(await exam.match(), mark)
    return Finding(PASSED, "waited, was ready, and moved")


async def _cut_in_its_turn(exam: Checkup) -> Finding:
    def cut(turn: Message) -> Sequence[Message]:
        exam.cable.cut()
        return []

    exam.relay.from_arena = _first("turn", cut)
    return await _comes_back_to_its_turn(exam)


async def _cut_as_it_moves(exam: Checkup) -> Finding:
    def cut(move: Message) -> Sequence[Message]:
        exam.cable.cut()
        return []

    exam.relay.from_bot = _first("move", cut)
    return await _comes_back_to_its_turn(exam)


async def _comes_back_to_its_turn(exam: Checkup) -> Finding:
    match = await exam.match()
    line = exam.relay.line
    mark = exam.mark if line is None else next(i for i, it in enumerate(exam.relay.seen) if it.line == line.number)
    closed = await exam.relay.until(
        lambda: next((it for it in exam.relay.seen[mark:] if it.type == "closed"), None), MOVE_WITHIN
    )
    if closed is None:
        raise Failed(f"did not move within {MOVE_WITHIN:g} s of its turn")
    back = await exam.comes_back(exam.relay.seen.index(closed))
    await exam.moves(match, back.mark)
    return Finding(PASSED, f"came back after {back.after:.1f} s with the same hello, and moved")


async def _cut_before_ready(exam: Checkup) -> Finding:
    started: list[Message] = []

    def cut(start: Message) -> Sequence[Message]:
        started.append(start)
        exam.cable.cut()
        return []

    exam.relay.from_arena = _first("start", cut)
    await exam.present()
    mark = exam.mark
    await exam.summon()
    back = await exam.comes_back(mark)
    await exam.ready(started[0]["match"], back.mark)
    await exam.moves(started[0]["match"], back.mark)
    return Finding(PASSED, f"came back after {back.after:.1f} s, was ready, and moved")


async def _waiting(exam: Checkup) -> tuple[str, int]:
    """A match in which the opponent holds its turn, and the mark at which it does."""
    exam.hold()
    match = await exam.match()
    await exam.until_opponent_moves(match)
    return match, exam.mark


async def _goes_on(exam: Checkup, match: str, since: int) -> None:
    """See that the bot plays on when the opponent has moved."""
    for opponent in exam.opponents:
        await opponent.go_on()
    await exam.moves(match, since)


async def _cut_meanwhile(exam: Checkup) -> Finding:
    match, mark = await _waiting(exam)
    exam.cable.cut()
    back = await exam.comes_back(mark)
    await _goes_on(exam, match, mark)
    return Finding(PASSED, f"came back after {back.after:.1f} s with the same hello, and moved in its turn")


async def _half_open(exam: Checkup) -> Finding:
    match, mark = await _waiting(exam)
    exam.fall_silent()
    try:
        back = await exam.comes_back(mark, NOTICES_WITHIN)
    except Failed:
        if exam.said("hello", since=mark) or exam.patient.ended:
            raise
        exam.cable.cut()
        await exam.comes_back(mark)
        await _goes_on(exam, match, mark)
        return Finding(WARNING, f"did not notice it within {NOTICES_WITHIN:g} s, and came back when it was closed")
    await _goes_on(exam, match, mark)
    return Finding(PASSED, f"noticed it, came back after {back.after:.1f} s, and moved in its turn")


async def _restart(exam: Checkup) -> Finding:
    match, mark = await _waiting(exam)
    for opponent in exam.opponents:
        opponent.held.clear()
    await exam.premises.stop()
    await exam.premises.start()
    back = await exam.comes_back(mark)
    await exam.until_opponent_moves(match)
    await _goes_on(exam, match, mark)
    return Finding(PASSED, f"came back {back.after:.1f} s after the restart, and played on")


async def _hangs_up(exam: Checkup) -> Finding:
    match, mark = await _waiting(exam)
    before = exam.cable.hung_up
    exam.cable.hangs_up = True
    exam.cable.cut()
    seconds = await _attempts(exam, lambda: exam.cable.hung_up - before)
    exam.cable.hangs_up = False
    return await _with_patience(exam, match, mark, exam.cable.hung_up - before, seconds)


async def _full(exam: Checkup) -> Finding:
    match, mark = await _waiting(exam)
    exam.relay.closes_with = TOO_MANY
    exam.cable.cut()

    def attempts() -> int:
        return sum(1 for seen in exam.relay.seen[mark:] if seen.type == "opened")

    seconds = await _attempts(exam, attempts)
    exam.relay.closes_with = None
    return await _with_patience(exam, match, mark, attempts(), seconds)


async def _attempts(exam: Checkup, count: Callable[[], int]) -> float:
    """Watch for a while how often a bot tries to connect in vain, twice at least; for how many seconds."""
    begun = time.monotonic()
    await exam.relay.until(lambda: exam.patient.ended, DOWN_FOR)
    while count() < 2 and exam.patient.ended is None and time.monotonic() - begun < BACK_WITHIN:
        await exam.relay.until(lambda: exam.patient.ended, 0.1)
    return time.monotonic() - begun


async def _with_patience(exam: Checkup, match: str, mark: int, attempts: int, seconds: float) -> Finding:
    """Whether a bot waited between its attempts to connect, and comes back now that they lead somewhere."""
    back = await exam.comes_back(mark)
    await _goes_on(exam, match, mark)
    verdict = WARNING if attempts > MANY_ATTEMPTS * seconds else PASSED
    return Finding(verdict, f"tried {attempts} times in {seconds:.0f} s, and came back {back.after:.1f} s after that")


async def _rejected(exam: Checkup) -> Finding:
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
        exam.relay.tell(rejected)
        return []

    mark = exam.mark
    exam.relay.from_bot = _first("move", reject)
    match = await exam.match()
    await exam.move(match, mark)
    told = await exam.expect("rejected", by=ARENA, since=mark, within=TOLD_WITHIN, instead="was not told so")
    since = exam.relay.seen.index(told)
    ply = told.message["ply"]

    def answered() -> str | None:
        if exam.said("move", since=since, match=match, ply=ply):
            return "moved again"
        return "resigned" if exam.said("resign", since=since, match=match) else exam.patient.ended

    did = await exam.relay.until(answered, MOVE_WITHIN)
    if did == "resigned":
        return Finding(WARNING, "resigned the match, which it could have played on")
    if did != "moved again":
        raise Failed(f"did not move again within {MOVE_WITHIN:g} s" if did is None else f"ended: its process {did}")
    return Finding(PASSED, "moved again")


async def _pings(exam: Checkup) -> Finding:
    await exam.present()
    did = f"answered within {exam.relay.slowest_pong:.2f} s at the slowest"
    if exam.relay.slowest_pong >= GIVE_UP_PING:
        raise Failed(f"left a ping unanswered for {GIVE_UP_PING:g} s")
    return Finding(PASSED if exam.relay.slowest_pong < PROMPT_PONG else WARNING, did)


async def _superseded(exam: Checkup) -> Finding:
    await exam.present()
    mark = exam.mark
    await exam.relay.hang_up(SUPERSEDED)

    def back() -> str | None:
        return exam.patient.ended or ("back" if any(it.type == "opened" for it in exam.relay.seen[mark:]) else None)

    did = await exam.relay.until(back, STAYS_AWAY_FOR)
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
    Case("late", "messages that are 1.5 s late", "wait for them", "clocks", _late),
    Case("slow", "a start 3 s late, turns 5 s late", "wait for them", "clocks", _slow),
    Case("cut-turn", "a connection cut in its turn", f"{COMES_BACK}answer the turn told again", LOST, _cut_in_its_turn),
    Case("cut-move", "a connection cut as it moves", f"{COMES_BACK}answer the turn told again", LOST, _cut_as_it_moves),
    Case("cut-other", "a connection cut in the other's turn", f"{COMES_BACK}play on", LOST, _cut_meanwhile),
    Case("cut-ready", "a connection cut before it is ready", f"{COMES_BACK}be ready", LOST, _cut_before_ready),
    Case("restart", "a restart of the arena (1012)", f"{COMES_BACK}play on", LOST, _restart),
    Case("hang-up", "a peer that accepts and closes", "try again, waiting longer each time", LOST, _hangs_up),
    Case("full", "an arena that is full (4004)", "try again, waiting longer each time", ERRORS, _full),
    Case("half-open", "a connection that falls silent", f"notice it within {NOTICES_WITHIN:g} s", LOST, _half_open),
    Case("pings", "pings all the while", f"answer within {PROMPT_PONG:g} s, thinking or not", "connection", _pings),
    Case("superseded", "being replaced by another (4003)", "stop", ERRORS, _superseded),
)
