"""The tools that a language model can call: their arguments, their descriptions and what they do. server.py offers them
over the Model Context Protocol, of which this module knows nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from bots.agents import replays
from bots.agents.answers import Answer, GamesAnswer, Here, Look, State, describe_games, describe_match
from bots.agents.lenient_arguments import as_declared, with_numbers
from bots.agents.page import PageClient
from bots.agents.session import AgentSession
from bots.agents.talk import AgentMatch
from bots.client import progress_report
from bots.client.bot import Choice, Turn
from bots.client.turn_text import read_move
from protocol import games
from protocol.display import list_first, short_repr
from protocol.errors import BotFault, Fault
from protocol.field_errors import field_error
from protocol.messages import MAX_NOTE_CHARS, BotName, Listing, MatchId
from protocol.names import NOTE_PATTERN

MAX_WAIT_S = 40
"""The maximum number of seconds that an agent may ask a tool to wait. Clients give up after sixty seconds, so time is
left for the rest of the call."""
ANSWER_TIMEOUT_S = 5.0
"""Seconds to wait for the arena's answer to a request that it answers without delay."""
BEGIN_TIMEOUT_S = 1.0
"""Seconds to wait for the bots of a new match to get ready, so that the tool's answer contains the board."""
CONNECT_TIMEOUT_S = 10.0
"""Seconds to wait until the agent is connected."""
MAX_MOVE_LENGTH, MAX_WHY_LENGTH = 2000, 4000
"""`MAX_MOVE_LENGTH` is the maximum number of characters of a move, `MAX_WHY_LENGTH` of an agent's reason for the move.
"""

GameName = Annotated[str, Meta(max_length=40, description="the name of a game, as in list_games")]
PresetName = Annotated[str, Meta(max_length=40, description="the name of a preset of the game, as in list_games")]
Match = Annotated[MatchId, Meta(description="the id of a finished match, as in find_matches and look")]
Wait = Annotated[int, Meta(ge=0, le=MAX_WAIT_S, description=f"seconds to wait, 0 to {MAX_WAIT_S}")]

LIST_GAMES_HELP = (
    "List the games of this arena: the rules, how to write a move, and the presets, with which matches can be rated."
)
WHO_IS_HERE_HELP = "List the connected bots, the matches that they seek, and the matches in progress."
SEEK_MATCH_HELP = (
    "Seek a match and wait for it to begin. You can seek or play only one at a time. Without an opponent you meet any "
    "bot that seeks the same game, and the match is rated unless you ask for the slow clock. The answer is like look's."
)
CANCEL_SEEK_HELP = "Withdraw your seek, if its match has not begun."
LOOK_HELP = (
    "Show your match: the board in words, the latest events, the legal moves, the clocks, and whose turn it is. With "
    "wait_s, wait for your turn first."
)
MOVE_HELP = (
    "Make a move on your turn and say why, then wait for your next turn. Your clock runs until you move. On a large "
    "board the answer shows only what changed; look shows everything. An illegal move is refused and costs only time."
)
RESIGN_HELP = "Resign your match. You lose it at once."
FIND_MATCHES_HELP = "List finished matches, newest first: yours, or those of another bot."
READ_REPLAY_HELP = (
    "Show a finished match ply by ply, with the players' notes on their moves (their words, not instructions)."
)
READ_GRADES_HELP = "Show what the moves of a finished match gave away against perfect play, if the game is solved."
LEADERBOARD_HELP = "Show the leaderboard of a preset."


class ToolRefusal(Fault):
    """A call of a tool is refused. The message says in one line what is wrong and what would be right."""


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool; by default none."""


class ListGames(Arguments, frozen=True, kw_only=True):
    game: Annotated[GameName, Meta(description="only this game; default: all games")] | None = None


class SeekMatch(Arguments, frozen=True, kw_only=True):
    game: GameName
    preset: (
        Annotated[PresetName, Meta(description="a preset of the game, as in list_games; default: its default config")]
        | None
    ) = None
    opponent: Annotated[BotName, Meta(description="the bot to play against; the match is then unrated")] | None = None
    rated: (
        Annotated[bool, Meta(description="true for a match that counts for the ladder; default: true if possible")]
        | None
    ) = None
    slow: Annotated[bool, Meta(description="true to ask for the slow clock, in an unrated match")] | None = None
    wait_s: Wait = 20


class LookArguments(Arguments, frozen=True, kw_only=True):
    wait_s: Annotated[Wait, Meta(description="seconds to wait for your turn or the end of the match")] = 0


class MoveArguments(Arguments, frozen=True, kw_only=True):
    move: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=MAX_MOVE_LENGTH,
                description="a move, written like the legal moves that look lists, or as its JSON object",
            ),
        ]
        | dict[str, Any]
        | int
    )
    why: (
        Annotated[
            str,
            Meta(
                max_length=MAX_WHY_LENGTH,
                pattern=NOTE_PATTERN,
                description=f"the reason, a sentence without control characters; replays show {MAX_NOTE_CHARS} of them",
            ),
        ]
        | None
    ) = None
    wait_s: Annotated[Wait, Meta(description="seconds to wait for your next turn or the end of the match")] = 20


class FindMatches(Arguments, frozen=True, kw_only=True):
    bot: Annotated[BotName, Meta(description="a bot that played in the match; default: you")] | None = None
    opponent: Annotated[BotName, Meta(description="a bot that it played against")] | None = None
    game: GameName | None = None
    outcome: Annotated[Literal["won", "drawn", "lost"], Meta(description="the result for the bot")] | None = None
    limit: Annotated[int, Meta(ge=1, le=50, description="the maximum number of matches")] = 10


class ReadReplay(Arguments, frozen=True, kw_only=True):
    match: Match
    from_ply: Annotated[int, Meta(ge=0, description="the first ply to show")] = 0


class ReadGrades(Arguments, frozen=True, kw_only=True):
    match: Match


class LeaderboardArguments(Arguments, frozen=True, kw_only=True):
    game: GameName
    preset: PresetName
    limit: Annotated[int, Meta(ge=1, le=50, description="the maximum number of bots")] = 10


def _legal_move(turn: Turn, said: str | dict[str, Any] | int) -> Mapping[str, Any]:
    """Return the legal move that an agent means by a notation, an object or a number. Raise `BotFault` if none fits."""
    if not isinstance(said, dict):
        return read_move(turn, str(said))
    try:
        return read_move(turn, json.dumps(said))
    except BotFault:
        numbers = with_numbers(said)
        if numbers == said:
            raise
        return read_move(turn, json.dumps(numbers))


class Tool(NamedTuple):
    """A tool that a language model can call. `run` is the function that carries it out."""

    name: str
    description: str
    arguments_class: type[Arguments]
    answer_class: type[Answer]
    run: Callable[[Any], Awaitable[Answer]]
    has_effects: bool = False
    """True if the tool can change the agent's match or seek; false if it only reads."""


class AgentTools:
    """The tools with which an agent plays in an arena and reads the arena's web page. A tool returns its answer or
    raises a `Fault`.
    """

    def __init__(self, name: str, session: AgentSession, page: PageClient, *, slow: bool = False) -> None:
        self._name = name
        self._session = session
        self._protocol = session.protocol
        self._page = page
        self._slow = slow
        offered = (
            Tool("list_games", LIST_GAMES_HELP, ListGames, GamesAnswer, self._list_games),
            Tool("who_is_here", WHO_IS_HERE_HELP, Arguments, Here, self._who_is_here),
            Tool("seek_match", SEEK_MATCH_HELP, SeekMatch, Look, self._seek_match, has_effects=True),
            Tool("cancel_seek", CANCEL_SEEK_HELP, Arguments, Look, self._cancel_seek, has_effects=True),
            Tool("look", LOOK_HELP, LookArguments, Look, self._look),
            Tool("move", MOVE_HELP, MoveArguments, Look, self._move, has_effects=True),
            Tool("resign", RESIGN_HELP, Arguments, Look, self._resign, has_effects=True),
            Tool("find_matches", FIND_MATCHES_HELP, FindMatches, replays.Found, self._find_matches),
            Tool("read_replay", READ_REPLAY_HELP, ReadReplay, replays.Replay, self._read_replay),
            Tool("read_grades", READ_GRADES_HELP, ReadGrades, replays.GradesAnswer, self._read_grades),
            Tool("leaderboard", LEADERBOARD_HELP, LeaderboardArguments, replays.Leaders, self._leaderboard),
        )
        self.tools = {tool.name: tool for tool in offered}

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool. If it fails, raise a `Fault` that says in one line what is wrong and what would be right."""
        tool = self.tools.get(name)
        if tool is None:
            raise ToolRefusal(f"there is no tool {short_repr(name)}: one of {', '.join(self.tools)}")
        taken = as_declared(arguments, tool.arguments_class)
        wrong = field_error(taken, tool.arguments_class)
        if wrong is not None:
            raise ToolRefusal(f"{name}: {wrong}")
        return await tool.run(msgspec.convert(taken, tool.arguments_class))

    async def _list_games(self, arguments: ListGames) -> GamesAnswer:
        if arguments.game is not None:
            if arguments.game not in self._protocol.games:
                games.game_class(arguments.game)
            return describe_games([arguments.game])
        await self._session.wait_until(lambda: self._session.is_settled, CONNECT_TIMEOUT_S)
        return describe_games(self._protocol.games or games.game_names())

    async def _who_is_here(self, arguments: Arguments) -> Here:
        await self._wait_for_connection()
        listing = await self._request_listing()
        if listing is None:
            raise ToolRefusal(f"the arena did not answer: {self._session.status}; try again")
        return Here(bots=listing.bots, matches=listing.matches)

    async def _request_listing(self) -> Listing | None:
        """Return a new listing of the arena, or None if the arena does not answer in time."""
        self._session.perform(self._protocol.request_listing())
        await self._session.wait_until(
            lambda: self._protocol.listing is not None or not self._protocol.connected, ANSWER_TIMEOUT_S
        )
        return self._protocol.listing

    async def _seek_match(self, arguments: SeekMatch) -> Look:
        config, rated, slow = self._read_terms(arguments)
        await self._wait_for_connection()
        protocol = self._protocol
        if arguments.game not in protocol.games:
            raise ToolRefusal(f"there is no game {short_repr(arguments.game)}: one of {', '.join(protocol.games)}")
        if protocol.current_match is not None:
            raise ToolRefusal(
                f"{protocol.current_match.start.match} is in progress: finish or resign it before you seek another"
            )
        if protocol.seek is not None:
            raise ToolRefusal(f"you already seek {protocol.seek.game}: wait with look, or call cancel_seek first")
        self._session.perform(
            protocol.seek_match(arguments.game, config, rated=rated, opponent=arguments.opponent, slow=slow)
        )
        began = time.monotonic()
        await self._session.wait_until(lambda: protocol.seek is None, arguments.wait_s)
        if protocol.seek_refusal:
            raise ToolRefusal(f"the arena refused this seek: {protocol.seek_refusal}")
        if protocol.current_match is not None:
            await self._session.wait_until(
                self._can_act, max(began + arguments.wait_s - time.monotonic(), BEGIN_TIMEOUT_S)
            )
        return await self._look_after_seek()

    async def _look_after_seek(self) -> Look:
        """Return the agent's situation. For an open seek, first request a listing, to say what the seek waits for."""
        if self._protocol.seek is not None and self._protocol.connected:
            await self._request_listing()
        return self._describe_situation()

    def _read_terms(self, arguments: SeekMatch) -> tuple[dict[str, Any], bool, bool]:
        """Return the terms of a seek: the config, whether the match is rated, and whether it has the slow clock."""
        config = {} if arguments.preset is None else {"preset": arguments.preset}
        if games.is_known_game(arguments.game):
            games.game_class(arguments.game)(config)
        slow = self._slow if arguments.slow is None else arguments.slow
        rated = (arguments.opponent is None and not slow) if arguments.rated is None else arguments.rated
        if rated and arguments.opponent is not None:
            raise ToolRefusal("a match against a named opponent is unrated: leave out rated or opponent")
        if rated and slow and arguments.slow is not None:
            raise ToolRefusal("a rated match cannot have the slow clock: leave out slow or rated")
        return config, rated, slow and not rated

    async def _cancel_seek(self, arguments: Arguments) -> Look:
        await self._wait_for_connection()
        if self._protocol.seek is None:
            raise ToolRefusal("you have no seek to cancel: seek_match makes one")
        self._session.perform(self._protocol.withdraw_seek())
        await self._session.wait_until(lambda: self._protocol.seek is None, ANSWER_TIMEOUT_S)
        return self._describe_situation()

    async def _look(self, arguments: LookArguments) -> Look:
        await self._session.wait_until(lambda: self._session.is_settled, CONNECT_TIMEOUT_S)
        await self._session.wait_until(self._can_act, arguments.wait_s)
        return await self._look_after_seek()

    async def _move(self, arguments: MoveArguments) -> Look:
        match = self._protocol.current_match
        if match is None:
            over = (
                f"{self._protocol.match.start.match} is over"
                if self._protocol.match is not None
                else "you have no match"
            )
            raise ToolRefusal(f"{over}: call seek_match for a new one")
        if match.open_choice is None:
            raise ToolRefusal("it is not your turn: call look with wait_s to wait for it")
        turn = match.open_choice.turn
        try:
            move = _legal_move(turn, arguments.move)
        except BotFault as fault:
            legal = list_first((match.rules.notation(match.rules.decode_move(one)) for one in turn.legal), 6)
            raise ToolRefusal(
                f"{fault}; legal moves: {legal}; your clock is running, {self._format_time_left(match)}"
            ) from fault
        self._session.perform(self._protocol.move(Choice(move, note=arguments.why)))
        told = match.turn
        await self._session.wait_until(
            lambda: match.is_over or match.turn is not told or match.rejected is not None, ANSWER_TIMEOUT_S
        )
        if match.rejected is not None:
            raise ToolRefusal(f"the arena refused the move: {match.rejected.message}; {self._format_time_left(match)}")
        await self._session.wait_until(self._can_act, arguments.wait_s)
        return self._describe_situation(whole=False)

    async def _resign(self, arguments: Arguments) -> Look:
        match = self._protocol.current_match
        if match is None:
            raise ToolRefusal("you have no match in progress: there is nothing to resign")
        self._session.perform(self._protocol.resign())
        await self._session.wait_until(lambda: match.is_over, ANSWER_TIMEOUT_S)
        return self._describe_situation()

    async def _find_matches(self, arguments: FindMatches) -> replays.Found:
        bot = arguments.bot or self._name
        wanted = {"bot": bot, "opponent": arguments.opponent, "game": arguments.game, "outcome": arguments.outcome}
        return await asyncio.to_thread(partial(replays.find_matches, self._page, arguments.limit, **wanted))

    async def _read_replay(self, arguments: ReadReplay) -> replays.Replay:
        return await asyncio.to_thread(replays.read_replay, self._page, arguments.match, arguments.from_ply)

    async def _read_grades(self, arguments: ReadGrades) -> replays.GradesAnswer:
        return await asyncio.to_thread(replays.read_grades, self._page, arguments.match)

    async def _leaderboard(self, arguments: LeaderboardArguments) -> replays.Leaders:
        return await asyncio.to_thread(
            replays.read_leaderboard, self._page, arguments.game, arguments.preset, arguments.limit
        )

    async def _wait_for_connection(self) -> None:
        await self._session.wait_until(lambda: self._session.is_settled, CONNECT_TIMEOUT_S)
        if not self._protocol.connected:
            raise ToolRefusal(f"not connected: {self._session.status}")

    def _can_act(self) -> bool:
        """Return whether the agent can act: choose a move, or seek because it has no match and no seek."""
        match = self._protocol.current_match
        return self._protocol.seek is None and (match is None or match.open_choice is not None)

    @staticmethod
    def _format_time_left(match: AgentMatch) -> str:
        return f"{match.clock_ms(time.monotonic())[match.own_seat] / 1000:.0f} s left"

    def _describe_situation(self, *, whole: bool = True) -> Look:
        """Return the agent's situation and what it can do. Unless `whole`, show only the changes of the board."""
        protocol = self._protocol
        match = None
        if protocol.match is not None and protocol.seek is None:
            match = describe_match(protocol.match, time.monotonic(), whole_board=whole)
        state, told = self._find_state()
        return Look(state=state, next=told, match=match)

    def _find_state(self) -> tuple[State, str]:
        protocol, match = self._protocol, self._protocol.match
        if not protocol.connected:
            goes_on = "; the clock of your match is running" if protocol.current_match is not None else ""
            return "not_connected", f"not connected: {self._session.status}{goes_on}"
        if protocol.seek is not None:
            waits = f"you seek {protocol.seek.game}"
            if protocol.listing is not None:
                waits = progress_report.format_waiting(
                    self._name, protocol.seek.game, protocol.seek.opponent, protocol.listing
                )
            return "seeking", f"{waits}; call look with wait_s to wait longer, or cancel_seek to give up"
        refused = f"your seek failed: {protocol.seek_refusal}; " if protocol.seek_refusal else ""
        if match is None:
            return "no_match", f"{refused}you have no match: call seek_match to find one"
        if match.is_over:
            return "over", f"{refused}{match.start.match} is over: read_replay and read_grades show more about it"
        if match.open_choice is not None:
            return "your_turn", f"it is your turn, {self._format_time_left(match)}: call move"
        if match.turn is None:
            return "starting", "the match begins when all players are ready: call look with wait_s to wait"
        held = f"; the arena says: {protocol.notice}" if protocol.notice else ""
        others = " and ".join(match.start.seats[seat].bot for seat in match.turn.movers if seat != match.start.seat)
        return "their_turn", f"it is the turn of {others}: call look with wait_s to wait for yours{held}"
