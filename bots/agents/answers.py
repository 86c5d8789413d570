"""The answers of tools: fields for programs, and the same as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

from msgspec import Struct

from bots.agents.rules import GAME_RULES
from bots.agents.talk import AgentMatch
from bots.client import progress_report, turn_text
from protocol.display import escape_unprintable, format_count
from protocol.games import game_class
from protocol.messages import ListedBot, ListedMatch, Turn
from protocol.reasons import VOID

MAX_LISTED_MOVES = 200
"""Legal moves that are listed."""
CUSTOM_CONFIG_TEXT = "a config of its own"
"""The text for a config that is no preset."""
State = Literal["not_connected", "no_match", "seeking", "starting", "your_turn", "their_turn", "over"]


class Answer(Protocol):
    """A tool's answer: a struct, with a text that says all of it."""

    def format_text(self) -> str: ...


class AgentPlayer(Struct, frozen=True, kw_only=True):
    """A player in a seat, and the seconds left on its clock."""

    seat: int
    bot: str
    seconds_left: float


class MatchNow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match from the agent's view."""

    match: str
    game: str
    preset: str | None = None
    rated: bool
    you: int
    players: list[AgentPlayer]
    seconds_a_move: float
    ply: int | None = None
    board: str = ""
    position: dict[str, Any] = {}
    happened: list[str] = []
    to_move: int | tuple[int, ...] | None = None
    legal_moves: list[str] = []
    more_moves: str = ""
    how_to_move: str = ""
    result: str = ""

    def format_lines(self) -> Iterator[str]:
        rivals = ", ".join(f"{one.bot} is seat {one.seat}" for one in self.players if one.seat != self.you)
        what = f"{self.game} ({self.preset or CUSTOM_CONFIG_TEXT}), {'rated' if self.rated else 'unrated'}"
        yield f"{self.match}: {what}; you are seat {self.you}, {rivals}"
        yield from self.happened
        if self.board:
            yield self.board
        if self.result:
            yield self.result
        else:
            clocks = ", ".join(f"{one.bot} {one.seconds_left:g} s" for one in self.players)
            yield f"clocks: {clocks}; each move adds {self.seconds_a_move:g} s"
        if self.legal_moves:
            yield f"legal moves: {'; '.join(self.legal_moves)}"
            yield "; ".join(filter(None, (self.more_moves, f"moves are written like {self.how_to_move}")))


class Look(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agent's situation; `next` says what it can do now."""

    state: State
    next: str
    match: MatchNow | None = None

    def format_text(self) -> str:
        return "\n".join([*(self.match.format_lines() if self.match is not None else ()), self.next])


def describe_match(match: AgentMatch, now: float, *, whole_board: bool) -> MatchNow:
    """Return a match as it stands, mark its events as seen, and show the whole board or what changed on it."""
    start, turn, rules = match.start, match.turn, match.rules
    position, news = match.position, match.new_events
    board = _format_board(match, position, whole=whole_board)
    match.new_events, match.shown_position = [], position
    told = turn if match.end is None else match.end
    listed = [] if match.open_choice is None else match.open_choice.turn.legal
    unlisted = match.open_choice is not None and match.open_choice.turn.options is not None
    moves = [turn_text.format_move(rules, move) for move in listed[:MAX_LISTED_MOVES]]
    return MatchNow(
        match=start.match,
        game=start.game,
        preset=start.preset,
        rated=start.rated,
        you=match.own_seat,
        players=[
            AgentPlayer(seat=seat, bot=player.bot, seconds_left=round(left / 1000, 1))
            for seat, (player, left) in enumerate(zip(start.seats, match.clock_ms(now), strict=True))
        ],
        seconds_a_move=start.clock.increment_ms / 1000,
        ply=None if told is None else told.ply,
        board=board,
        position={} if told is None else told.state,
        happened=turn_text.format_events(rules, start.seats, match.own_seat, news),
        to_move=None if turn is None or match.is_over else _to_move(match, turn),
        legal_moves=moves,
        more_moves=_describe_unlisted(len(listed) - len(moves), unlisted=unlisted),
        how_to_move=rules.move_syntax if moves else "",
        result=_format_result(match),
    )


def _format_board(match: AgentMatch, position: Any, *, whole: bool) -> str:
    if position is None:
        return ""
    rules, last = match.rules, match.shown_position
    changed = None if whole or last is None else rules.describe_changes(last, position)
    told = rules.describe(position) if changed is None or changed == rules.draw_board(position) else changed
    return "\n".join(filter(None, (told, rules.summarise(position))))


def _to_move(match: AgentMatch, turn: Turn) -> int | tuple[int, ...]:
    """Return the seats to move, without the agent's own once it has chosen. Whether others have chosen is unknown."""
    if isinstance(turn.to_move, int) or match.open_choice is not None:
        return turn.to_move
    return tuple(seat for seat in turn.to_move if seat != match.own_seat)


def _describe_unlisted(left_out: int, *, unlisted: bool) -> str:
    told = [f"{left_out} more that are not listed"] if left_out else []
    return ", ".join([*told, *(["any others that the rules allow"] if unlisted else [])])


def _format_result(match: AgentMatch) -> str:
    if match.ended_unseen:
        return "it ended while the connection to the arena was down: read_replay tells how"
    if match.end is None:
        return ""
    if match.end.reason == VOID:
        return "the match is void: the arena could not play it, and it counts for nobody"
    return progress_report.format_result(match.start, match.own_seat, match.end)


class Here(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The connected bots and the matches under way, as the arena lists them."""

    bots: list[ListedBot]
    matches: list[ListedMatch]

    def format_text(self) -> str:
        bots = [escape_unprintable(f"{bot.bot}: {', '.join(_describe_activity(bot)) or 'idle'}") for bot in self.bots]
        matches = [
            escape_unprintable(
                f"{one.match}: {one.game} ({one.preset or CUSTOM_CONFIG_TEXT}), {' against '.join(one.seats)}, "
                f"ply {one.ply}"
            )
            for one in self.matches
        ]
        return "\n".join([*(bots or ["nobody is here"]), *(matches or ["nothing is played now"])])


def _describe_activity(bot: ListedBot) -> Iterator[str]:
    if bot.playing:
        yield f"in {format_count(bot.playing, 'match', 'matches')}"
    opened = [
        f"{seek.game} ({', '.join(seek.presets)})" if seek.presets else seek.game for seek in bot.seeks if seek.open
    ]
    if opened:
        yield f"takes any match of {', '.join(opened)}"
    if bot.warming:
        yield f"gets ready for {', '.join(bot.warming)}"
    for seek in bot.seeks:
        if not seek.open:
            against = f" against {', '.join(seek.opponents)}" if seek.opponents else ""
            yield (
                f"seeks {seek.game} ({seek.preset or CUSTOM_CONFIG_TEXT}), "
                f"{'rated' if seek.rated else 'unrated'}{against}"
            )


class PresetAbout(Struct, frozen=True, kw_only=True):
    """A config on which matches are rated, by name."""

    preset: str
    seats: int
    config: dict[str, Any]
    """The keys that differ from the defaults."""


class GameAbout(Struct, frozen=True, kw_only=True):
    """A game that the arena plays."""

    game: str
    rules: str
    how_to_move: str
    presets: list[PresetAbout]


class GamesAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The games that can be played."""

    games: list[GameAbout]

    def format_text(self) -> str:
        return "\n\n".join("\n".join(_format_game(game)) for game in self.games)


def _format_game(game: GameAbout) -> Iterator[str]:
    yield f"{game.game}: {game.rules}"
    yield f"A move is written like {game.how_to_move}."
    yield "Presets:"
    for one in game.presets:
        yield (
            f"{one.preset}: {one.seats} seats, "
            f"{progress_report.format_json(one.config) if one.config else 'the defaults'}"
        )


def describe_games(names: Iterable[str]) -> GamesAnswer:
    """Return what is known about these games."""
    told = []
    for name in names:
        kind = game_class(name)
        presets = [
            PresetAbout(preset=preset, seats=kind({"preset": preset}).seats, config=dict(config))
            for preset, config in kind.presets.items()
        ]
        told.append(GameAbout(game=name, rules=GAME_RULES[name], how_to_move=kind.move_syntax, presets=presets))
    return GamesAnswer(games=told)
