"""The harness of the doctor's cases: a bot under test, its opponents and an arena of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any, TypeVar

from arena.doctor.tcp_proxy import HOST, TcpProxy
from arena.doctor.timeouts import DoctorTimeouts
from arena.doctor.websocket_proxy import FROM_ARENA, FROM_BOT, PROXY_SEEK_ID, Message, RecordedMessage, WebSocketProxy
from arena.processes.launch_spec import LaunchSpec
from arena.processes.process import BotProcess, Crash
from arena.processes.server_process import ServerProcess, start_module
from machine.client.client import ClientBase
from machine.client.client_protocol import ClientProtocol, Effect, PrintLine
from machine.client.nodes import NodeRouter
from machine.client.timeouts import ClientTimeouts
from machine.game_discovery import GAME_FILES_VARIABLE
from machine.timeouts import FACTOR_VARIABLE
from protocol import bot_launch
from protocol.errors import ArenaFault, BotFault, os_errors_as
from protocol.games import load_game
from protocol.messages import MAX_SLOTS, End, Hello, Move, Ready, Resign, Seek, Start, Turn, Unseek

T = TypeVar("T")
BOT_NAME = "patient"
"""The name of the bot under test in its first run; later runs add a number."""
SETTLE_DELAY_S = 0.1
"""Seconds to wait until the end of a connection or of a match has taken effect."""
CLOCK_OPTION = "60+0.5"
"""The clock of the doctor's matches: 60 seconds, and 0.5 seconds more for each move."""


class DoctorServer:
    """A server in a process and a folder of its own, on a free port. `start` after `stop` resumes its matches."""

    def __init__(self, data: Path, timeouts: DoctorTimeouts) -> None:
        self._timeouts = timeouts
        options = ("--no-web", "--clock", CLOCK_OPTION, "--data", str(data))
        self._process = ServerProcess("serve", *options, start_program=_start_program)

    @property
    def port(self) -> int:
        return self._process.port

    async def start(self) -> None:
        """Start the server and wait until it listens. Raise `ArenaFault` if it does not."""
        self._process.start()
        if not await asyncio.to_thread(self._process.wait_until_ready, self._timeouts.server_start_timeout_s):
            said = self._process.log[-1].strip() if self._process.log else "it printed nothing"
            raise ArenaFault(f"the doctor's own server does not start: {said}")

    async def stop(self) -> None:
        """Stop the server as SIGTERM does, which closes every connection with code 1012."""
        with contextlib.suppress(TimeoutExpired):
            await asyncio.to_thread(self._process.stop, timeout_s=self._timeouts.server_stop_timeout_s)


def _start_program(words: Sequence[str], **streams: Any) -> Popen[bytes]:
    environment = _environment(FACTOR_VARIABLE, GAME_FILES_VARIABLE)
    return start_module(words, env=environment, start_new_session=True, **streams)


def _environment(*passed: str) -> dict[str, str]:
    """Return the environment without the variables of the arena and of bots, except those that are `passed`."""
    return {key: value for key, value in os.environ.items() if not key.startswith("ARENA_") or key in passed}


def _is_turn_of(turn: Message, seat: object) -> bool:
    """Return whether a turn asks this seat, perhaps among others, for a move."""
    to_move = turn["to_move"]
    return seat in to_move if isinstance(to_move, list) else bool(seat == to_move)


class OpponentProtocol(ClientProtocol):
    """The conversation of an opponent of the bot under test. It seeks the same matches as that bot, and plays the first
    legal move.
    """

    def __init__(self, name: str, url: str, *, holds_turns: bool) -> None:
        super().__init__(name, secrets.token_urlsafe(24), url, patience=None)
        self.holds_turns = holds_turns
        """True while this opponent does not answer its turns."""
        self.held_turns: dict[str, Turn] = {}
        """The turns that this opponent has not answered, by match."""
        self.matches: set[str] = set()

    def _make_hello(self) -> Hello:
        return Hello(bot=self._name, token=self._token, slots=MAX_SLOTS)

    def seek(self, seek: Message) -> list[Effect]:
        """Seek a match with the game and config of the bot's `seek`. It is unrated if that seek names an opponent."""
        rated = bool(seek.get("rated", True)) and "opponent" not in seek
        return [Seek(id="house", game=seek["game"], config=seek.get("config", {}), rated=rated)]

    def unseek(self) -> list[Effect]:
        return [Unseek(id="house")]

    def release_turns(self) -> list[Effect]:
        """Answer all held turns, and from now on each turn at once."""
        self.holds_turns = False
        turns, self.held_turns = self.held_turns, {}
        return [_first_move(turn) for turn in turns.values()]

    def resign_all(self) -> list[Effect]:
        self.held_turns.clear()
        return [Resign(match=match) for match in self.matches]

    def _on_start(self, start: Start) -> list[Effect]:
        self.matches.add(start.match)
        return [Ready(match=start.match)]

    def _on_turn(self, turn: Turn, now: float) -> list[Effect]:
        if not self.holds_turns:
            return [_first_move(turn)]
        self.held_turns[turn.match] = turn
        return []

    def _on_end(self, end: End) -> list[Effect]:
        self.matches.discard(end.match)
        self.held_turns.pop(end.match, None)
        return []


def _first_move(turn: Turn) -> Move:
    assert turn.legal
    return Move(match=turn.match, ply=turn.ply, move=turn.legal[0])


class Opponent(ClientBase):
    """The connection of an opponent. `on_change` is called after each of its messages."""

    def __init__(self, protocol: OpponentProtocol, on_change: Callable[[], None]) -> None:
        self.protocol = protocol
        self._on_change = on_change
        timeouts = ClientTimeouts(max_retry_delay_s=SETTLE_DELAY_S)
        super().__init__(NodeRouter(protocol, single_node=True), timeouts, time.monotonic)
        self._playing = asyncio.create_task(self.play())

    async def close(self) -> None:
        """Close the connection of this opponent."""
        self._playing.cancel()
        await asyncio.wait([self._playing])

    def _perform(self, effects: Sequence[Effect]) -> None:
        super()._perform([effect for effect in effects if not isinstance(effect, PrintLine)])
        self._on_change()


class BotUnderTest:
    """The process of the bot under test. Each start runs `command` with a new name and a new token.

    `on_ended` is called when the process ends by itself.
    """

    def __init__(self, command: Sequence[str], port: int, game: str, log: Path, on_ended: Callable[[], None]) -> None:
        self.crash: Crash | None = None
        """The crash of the process if it ended by itself, else None."""
        self._log = log
        self._command = tuple(command)
        self._url = f"ws://{HOST}:{port}"
        self._game = game
        self._happened = on_ended
        self._process: BotProcess | None = None
        self._runs = 0

    @property
    def exit_description(self) -> str | None:
        """A description of how the process ended by itself; None if it did not."""
        return None if self.crash is None else self.crash.how

    async def start(self) -> None:
        """Run the program. Raise `BotCrashed` if it is missing, `ArenaFault` if its log cannot be written."""
        self.crash = None
        self._runs += 1
        name = BOT_NAME if self._runs == 1 else f"{BOT_NAME}-{self._runs}"
        token = secrets.token_urlsafe(24)
        environment = {
            **_environment(GAME_FILES_VARIABLE),
            bot_launch.URL_VARIABLE: self._url,
            bot_launch.BOT_VARIABLE: name,
            bot_launch.TOKEN_VARIABLE: token,  # and on standard input, as in tournaments
            bot_launch.TOKEN_FD_VARIABLE: "0",
            bot_launch.GAME_VARIABLE: self._game,
        }
        order = LaunchSpec(command=self._command, environment=environment, token=token)
        self._process = BotProcess(name, order, self._log, self._crashed)
        await self._process.start()

    async def stop(self) -> None:
        if self._process is not None:
            await self._process.stop(exit_timeout_s=0.0)

    def _crashed(self, process: BotProcess, crash: Crash) -> None:
        if process is self._process:
            self.crash = crash
            self._happened()


class CaseFailed(Exception):
    """Raised if the bot did not react as it must. The message is a part of a sentence that begins with "it"."""


class Harness:
    """A bot under test with its opponents, server and proxies, and methods to make faults and check reactions."""

    def __init__(
        self,
        game: str,
        server: DoctorServer,
        websocket_proxy: WebSocketProxy,
        tcp_proxy: TcpProxy,
        bot: BotUnderTest,
        timeouts: DoctorTimeouts,
    ) -> None:
        self.timeouts = timeouts
        self.server = server
        self.websocket_proxy = websocket_proxy
        self.tcp_proxy = tcp_proxy
        self.bot = bot
        self.opponents: list[Opponent] = []
        self.seeks = True
        """True if the bot seeks matches itself; False if it waits for assigned matches."""
        self.slowest_move = 0.0
        self._game = game
        self.was_welcomed = False
        """True if the bot was welcomed in any of its runs."""
        self._holds = False
        self._run_mark = 0
        """The number of messages that were recorded before the bot's current process started."""

    @property
    def mark(self) -> int:
        """The number of messages recorded so far. Passed as `since`, it limits a search to later messages."""
        return len(self.websocket_proxy.messages)

    async def ensure_welcomed(self) -> None:
        """Make sure that the bot runs, is connected and welcomed."""
        if self.bot.exit_description is not None:
            await self.restart_bot()
        within = self.timeouts.welcome_timeout_s if self.was_welcomed else self.timeouts.first_welcome_timeout_s
        if await self._until(self._find_welcome, within) is None:
            raise CaseFailed(f"got no welcome within {within:g} s: it has to connect and send hello")
        self.was_welcomed = True

    async def restart_bot(self) -> None:
        """Stop the bot, cut its connections, and start it again."""
        await self.bot.stop()
        self.tcp_proxy.cut()
        await asyncio.sleep(SETTLE_DELAY_S)
        self._run_mark = self.mark
        await self.bot.start()

    async def seek_match(self) -> None:
        """Let the opponents seek the bot's match. If the bot seeks nothing, the proxy sends a seek in its place."""
        await self.ensure_welcomed()
        sought = await self._until(self._find_seek, self.timeouts.seek_timeout_s if self.seeks else 0.0)
        if sought is None:
            self.seeks = False
            sought = {"type": "seek", "id": PROXY_SEEK_ID, "game": self._game}
            self.websocket_proxy.send_to_arena(sought)
        try:
            seats = load_game(sought["game"], sought.get("config", {})).seats
        except (BotFault, KeyError, TypeError) as exc:
            raise CaseFailed(f"seeks a match that the arena does not offer: {exc}") from exc
        for opponent in self._ensure_opponents(seats - 1):
            opponent.perform(opponent.protocol.seek(sought))

    async def start_match(self) -> str:
        """Start a match, check that the bot is ready, and return the match's id."""
        mark = self.mark
        await self.seek_match()
        start = await self.expect(
            "start", by=FROM_ARENA, since=mark, timeout_s=self.timeouts.start_timeout_s, failure="met no opponent"
        )
        match: str = start.message["match"]
        await self.expect_ready(match, mark)
        return match

    async def expect_ready(self, match: str, since: int) -> None:
        """Check that the bot sends `ready` for a match in time."""
        instead = f"sent no ready within {self.timeouts.ready_timeout_s:g} s"
        await self.expect("ready", since=since, timeout_s=self.timeouts.ready_timeout_s, failure=instead, match=match)

    async def expect_moves(self, match: str, since: int, count: int = 1) -> None:
        """Check that the bot answers the next `count` turns, or fewer if the match ends."""
        for _ in range(count):
            move = await self.expect_move(match, since)
            if move is None:
                return
            since = self.websocket_proxy.messages.index(move) + 1

    async def expect_move(self, match: str, since: int) -> RecordedMessage | None:
        """Return the bot's move in its first turn from message `since` on; None if the match ends first.

        Raise `CaseFailed` if the bot gets no turn or makes no move.
        """
        turn = await self._until(lambda: self._find_turn(match, since), self.timeouts.move_timeout_s)
        if turn is None:
            raise CaseFailed("got no turn: the match did not go on")
        if turn.type == "end":
            return None
        ply = turn.message["ply"]
        instead = f"did not move within {self.timeouts.move_timeout_s:g} s of its turn"
        found = await self.expect(
            "move", since=since, timeout_s=self.timeouts.move_timeout_s, failure=instead, match=match, ply=ply
        )
        self.slowest_move = max(self.slowest_move, found.at - turn.at)
        return found

    def hold_turns(self) -> None:
        """Let the opponents leave their turns unanswered."""
        self._holds = True
        for opponent in self.opponents:
            opponent.protocol.holds_turns = True

    async def wait_for_opponent_turn(self, match: str) -> None:
        """Wait until an opponent has a turn that it leaves unanswered. Raise `CaseFailed` if that takes too long."""
        if not await self._until(
            lambda: any(match in opponent.protocol.held_turns for opponent in self.opponents) or None,
            self.timeouts.move_timeout_s,
        ):
            raise CaseFailed(f"did not move within {self.timeouts.move_timeout_s:g} s of its turn")

    def is_simultaneous(self, match: str) -> bool:
        """Return whether the opponents have an unanswered turn of a simultaneous round in a match. The bot moves in
        this round, too.
        """
        held = [opponent.protocol.held_turns.get(match) for opponent in self.opponents]
        return any(turn is not None and not isinstance(turn.to_move, int) for turn in held)

    async def expect_return(self, since: int, timeout_s: float | None = None) -> float:
        """Check that the bot reconnects with the same name and token; return the seconds it took."""
        timeout_s = self.timeouts.return_timeout_s if timeout_s is None else timeout_s
        begun = time.monotonic()
        first = self._first_hello()
        instead = f"did not reconnect within {timeout_s:g} s"
        hello = await self.expect("hello", since=since, timeout_s=timeout_s, failure=instead)
        if str(hello.message.get("bot")).lower() != str(first.get("bot")).lower():
            raise CaseFailed(f"reconnected as {hello.message.get('bot')}, but was {first.get('bot')} before")
        if hello.message.get("token") != first.get("token"):
            raise CaseFailed("reconnected without its token or with another one")
        return max(0.0, hello.at - begun)

    async def expect(
        self, kind: str, *, by: str = FROM_BOT, since: int, timeout_s: float, failure: str, **fields: Any
    ) -> RecordedMessage:
        """Return the first message from number `since` on with this type, sender and fields. Raise `CaseFailed` if none
        comes.
        """
        found = await self._until(lambda: self.find_message(kind, by=by, since=since, **fields), timeout_s)
        if found is None:
            raise CaseFailed(failure)
        return found

    def find_message(self, kind: str, *, by: str = FROM_BOT, since: int, **fields: Any) -> RecordedMessage | None:
        """Return the first message from number `since` on with this type, sender and fields; None if there is none."""
        return next(self.find_messages(kind, by=by, since=since, **fields), None)

    def find_messages(self, kind: str, *, by: str = FROM_BOT, since: int, **fields: Any) -> Iterator[RecordedMessage]:
        """Yield all messages from number `since` on with this type, sender and fields."""
        for seen in self.websocket_proxy.messages[since:]:
            told = seen.sender == by and seen.type == kind
            if told and all(seen.message.get(key) == value for key, value in fields.items()):
                yield seen

    def cut_connections(self, message: Message) -> Sequence[Message]:
        """Cut the bot's connections. Return an empty list, so that the proxy does not pass on `message`."""
        self.tcp_proxy.cut()
        return []

    def fall_silent(self) -> None:
        """Pass on no more data of the bot's connections, but leave them open."""
        if self.websocket_proxy.connection is not None:
            self.websocket_proxy.connection.is_silent = True
        self.tcp_proxy.fall_silent()

    async def undo_faults(self) -> None:
        """Undo all faults, and end the bot's match. Raise `CaseFailed` if the bot's process then fails."""
        self.websocket_proxy.reset()
        self.tcp_proxy.closes_new_connections = False
        self._holds = False
        matches = {match for one in self.opponents for match in one.protocol.matches}  # some may just have ended
        for opponent in self.opponents:
            opponent.protocol.holds_turns = False
            opponent.perform([*opponent.protocol.unseek(), *opponent.protocol.resign_all()])
        if matches and self.websocket_proxy.connection is not None and self.bot.exit_description is None:
            await self.websocket_proxy.until(
                lambda: all(self.find_message("end", by=FROM_ARENA, since=0, match=match) for match in matches) or None,
                self.timeouts.settle_timeout_s,
            )
            crash = await self.websocket_proxy.until(lambda: self.bot.crash, SETTLE_DELAY_S)
            if crash is not None and crash.code != 0:
                raise CaseFailed(f"exited after the match: its process {crash.how}")

    async def close(self) -> None:
        """Stop the bot and the opponents."""
        await self.bot.stop()
        for opponent in self.opponents:
            await opponent.close()

    async def _until(self, found: Callable[[], T | None], timeout_s: float) -> T | None:
        """Wait as `WebSocketProxy.until` does. Raise `CaseFailed` if the bot's process ends in the meantime."""

        def look() -> tuple[T | None] | None:
            it = found()
            return None if it is None and self.bot.exit_description is None else (it,)

        (it,) = await self.websocket_proxy.until(look, timeout_s) or (None,)
        if it is None and self.bot.exit_description is not None:
            raise CaseFailed(f"exited: its process {self.bot.exit_description}")
        return it

    def _ensure_opponents(self, count: int) -> list[Opponent]:
        while len(self.opponents) < count:
            name, url = f"house-{len(self.opponents) + 1}", f"ws://{HOST}:{self.websocket_proxy.arena}"
            protocol = OpponentProtocol(name, url, holds_turns=self._holds)
            self.opponents.append(Opponent(protocol, self.websocket_proxy.wake))
        return self.opponents[:count]

    def _find_welcome(self) -> RecordedMessage | None:
        line, since = self.websocket_proxy.connection, self.websocket_proxy.messages[self._run_mark :]
        if line is None or not any(it.connection == line.number and it.type == "opened" for it in since):
            return None
        return next((it for it in since if it.connection == line.number and it.type == "welcome"), None)

    def _find_seek(self) -> Message | None:
        line = self.websocket_proxy.connection
        seeks: dict[object, Message] = {}
        for seen in self.websocket_proxy.messages:
            if line is None or seen.connection != line.number:
                continue
            if seen.type == "seek":
                seeks[seen.message.get("id")] = seen.message
            elif seen.type in ("start", "error", "unseek"):
                seeks.pop(seen.message.get({"start": "seek", "error": "ref", "unseek": "id"}[seen.type]), None)
        return next(iter(seeks.values()), None)

    def _find_turn(self, match: str, since: int) -> RecordedMessage | None:
        """Return the bot's first turn from message `since` on; the end of the match if that comes first; else None."""
        start = self.find_message("start", by=FROM_ARENA, since=0, match=match)
        seat = None if start is None else start.message.get("seat")
        for seen in self.websocket_proxy.messages[since:]:
            told = seen.sender == FROM_ARENA and seen.message.get("match") == match
            if told and (seen.type == "end" or (seen.type == "turn" and _is_turn_of(seen.message, seat))):
                return seen
        return None

    def _first_hello(self) -> Message:
        """Return the first `hello` of the bot's current process. If it has no token, add the token from the arena."""
        hello = self.find_message("hello", since=self._run_mark)
        if hello is None:
            return {}
        welcome = self.find_message("welcome", by=FROM_ARENA, since=self._run_mark)
        given = None if welcome is None else welcome.message.get("token")
        return {**hello.message, "token": hello.message.get("token") or given}


@contextlib.asynccontextmanager
async def run_harness(command: Sequence[str], game: str, log: Path, timeouts: DoctorTimeouts) -> AsyncIterator[Harness]:
    """Yield the harness of a bot on an arena of its own, removed on exit. Raise `ArenaFault` if one cannot start."""
    async with contextlib.AsyncExitStack() as stack:
        with os_errors_as(ArenaFault, "no folder can be made for the arena of the doctor"):
            folder = tempfile.TemporaryDirectory(prefix="arena-doctor-")
        data = stack.enter_context(folder)
        server = DoctorServer(Path(data), timeouts)
        stack.push_async_callback(server.stop)
        await server.start()
        relay = WebSocketProxy(server.port, timeouts)
        stack.push_async_callback(relay.close)
        cable = TcpProxy(await relay.open())
        stack.push_async_callback(cable.close)
        bot = BotUnderTest(command, await cable.open(), game, log, relay.wake)
        harness = Harness(game, server, relay, cable, bot, timeouts)
        stack.push_async_callback(harness.close)
        await harness.restart_bot()
        yield harness
