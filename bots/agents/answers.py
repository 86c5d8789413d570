"""The answers of tools: as fields for programs, and as text for models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Protocol

from msgspec import Meta, Struct

from bots.agents.talk import AgentMatch
from bots.client import progress_report, turn_text
from protocol.display import escape_unprintable, format_count
from protocol.games import game_class, game_document, is_known_game, load_game
from protocol.messages import ListedBot, ListedMatch, Turn
from protocol.reasons import VOID

MAX_LISTED_MOVES = 200
"""The maximum number of legal moves that an answer lists."""
RULES_ELSEWHERE_TEXT = "only the arena has the rules: its page has them at /rules, and look lists your legal moves"
"""The text shown in place of the rules of a game that only the arena has."""
CUSTOM_CONFIG_TEXT = "custom config"
"""The text shown in place of a preset's name, for a config that is not a preset."""
State = Literal["not_connected", "no_match", "seeking", "starting", "your_turn", "their_turn", "over"]


class Answer(Protocol):
    """A tool's answer: a struct that can format all of its fields as text."""

    def format_text(self) -> str: ...


class AgentPlayer(Struct, frozen=True, kw_only=True):
    """A player in a seat, and the seconds left on its clock."""

    seat: Annotated[int, Meta(description="the seat, numbered from 0")]
    bot: Annotated[str, Meta(description="the player's name")]
    seconds_left: Annotated[float, Meta(description="the seconds left on its clock")]


class MatchNow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match from the agent's view."""

    match: Annotated[str, Meta(description="the id of the match")]
    game: Annotated[str, Meta(description="the name of the game")]
    preset: Annotated[str | None, Meta(description="the preset; absent for a custom config")] = None
    rated: Annotated[bool, Meta(description="true if the match counts for the ladder")]
    you: Annotated[int, Meta(description="your seat")]
    players: Annotated[list[AgentPlayer], Meta(description="the players in seat order")]
    seconds_a_move: Annotated[float, Meta(description="the seconds that each accepted move adds to the clock")]
    ply: Annotated[int | None, Meta(description="the number of steps so far; absent before the first turn")] = None
    board: Annotated[str, Meta(description="the position in words; after a move perhaps only what changed")] = ""
    position: Annotated[dict[str, Any], Meta(description="the position as data")] = {}
    happened: Annotated[list[str], Meta(description="the events since you last looked, oldest first")] = []
    to_move: Annotated[
        int | tuple[int, ...] | None,
        Meta(description="the seat to move, or the seats that still have to move in a simultaneous round"),
    ] = None
    legal_moves: Annotated[list[str], Meta(description="your legal moves; empty if it is not your turn")] = []
    more_moves: Annotated[str, Meta(description="a note if legal_moves does not list every legal move")] = ""
    how_to_move: Annotated[str, Meta(description="examples of how to write a move")] = ""
    result: Annotated[str, Meta(description="the result, once the match is over")] = ""

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
            yield "; ".join(filter(None, (self.more_moves, f"write a move like {self.how_to_move}")))


class Look(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agent's situation; `next` says what it can do now."""

    state: Annotated[State, Meta(description="your situation")]
    next: Annotated[str, Meta(description="what you can do now, in a sentence")]
    match: Annotated[MatchNow | None, Meta(description="your match in progress, or your last one")] = None

    def format_text(self) -> str:
        return "\n".join([*(self.match.format_lines() if self.match is not None else ()), self.next])


def describe_match(match: AgentMatch, now: float, *, whole_board: bool) -> MatchNow:
    """Return the match as it stands now, with the whole board or only its changes. Mark its events and its position as
    shown.
    """
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
        how_to_move=turn_text.example_move(match.open_choice.turn) if match.open_choice is not None else "",
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
    """Return the seats that still have to move, as far as the agent knows: in a round, it knows only its own choice."""
    if isinstance(turn.to_move, int) or match.open_choice is not None:
        return turn.to_move
    return tuple(seat for seat in turn.to_move if seat != match.own_seat)


def _describe_unlisted(left_out: int, *, unlisted: bool) -> str:
    told = [f"{left_out} more are not listed"] if left_out else []
    return ", ".join([*told, *(["the rules allow others too"] if unlisted else [])])


def _format_result(match: AgentMatch) -> str:
    if match.ended_unseen:
        return "it ended while the connection to the arena was down: call read_replay for the result"
    if match.end is None:
        return ""
    if match.end.reason == VOID:
        return "the match is void: it ended without a result and does not count"
    return progress_report.format_result(match.start, match.own_seat, match.end)


class Here(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The connected bots and the matches in progress, as the arena lists them."""

    bots: Annotated[list[ListedBot], Meta(description="the connected bots")]
    matches: Annotated[list[ListedMatch], Meta(description="the matches in progress")]

    def format_text(self) -> str:
        bots = [escape_unprintable(f"{bot.bot}: {', '.join(_describe_activity(bot)) or 'idle'}") for bot in self.bots]
        matches = [
            escape_unprintable(
                f"{one.match}: {one.game} ({one.preset or CUSTOM_CONFIG_TEXT}), {' against '.join(one.seats)}, "
                f"ply {one.ply}"
            )
            for one in self.matches
        ]
        return "\n".join([*(bots or ["no bot is connected"]), *(matches or ["no match is in progress"])])


def _describe_activity(bot: ListedBot) -> Iterator[str]:
    if bot.playing:
        yield f"in {format_count(bot.playing, 'match', 'matches')}"
    opened = [
        f"{seek.game} ({', '.join(seek.presets)})" if seek.presets else seek.game for seek in bot.seeks if seek.open
    ]
    if opened:
        yield f"accepts any match of {', '.join(opened)}"
    if bot.warming:
        yield f"prepares for {', '.join(bot.warming)}"
    for seek in bot.seeks:
        if not seek.open:
            against = f" against {', '.join(seek.opponents)}" if seek.opponents else ""
            yield (
                f"seeks {seek.game} ({seek.preset or CUSTOM_CONFIG_TEXT}), "
                f"{'rated' if seek.rated else 'unrated'}{against}"
            )


class PresetAbout(Struct, frozen=True, kw_only=True):
    """A named config of a game, under which matches can be rated."""

    preset: Annotated[str, Meta(description="the name of the preset")]
    seats: Annotated[int, Meta(description="the number of seats")]
    config: Annotated[dict[str, Any], Meta(description="the keys that differ from the defaults")]


class GameAbout(Struct, frozen=True, kw_only=True):
    """A game that the arena plays."""

    game: Annotated[str, Meta(description="the name of the game")]
    rules: Annotated[str, Meta(description="the rules")]
    how_to_move: Annotated[str, Meta(description="examples of how to write a move")]
    presets: Annotated[list[PresetAbout], Meta(description="the named configs of the game")]


class GamesAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The games of the arena."""

    games: Annotated[list[GameAbout], Meta(description="the games of the arena")]

    def format_text(self) -> str:
        return "\n\n".join("\n".join(_format_game(game)) for game in self.games)


def _format_game(game: GameAbout) -> Iterator[str]:
    yield f"{game.game}: {game.rules}"
    yield f"Write a move like {game.how_to_move}."
    if game.presets:
        yield "Presets:"
    for one in game.presets:
        yield (
            f"{one.preset}: {one.seats} seats, "
            f"{progress_report.format_json(one.config) if one.config else 'default config'}"
        )


def describe_games(names: Iterable[str]) -> GamesAnswer:
    """Return the answer about these games: the rules, the presets, and how to write a move."""
    return GamesAnswer(games=[_describe_game(name) if is_known_game(name) else _untold(name) for name in names])


def _describe_game(name: str) -> GameAbout:
    made = {preset: load_game(name, {"preset": preset}) for preset in game_class(name).presets}
    return GameAbout(
        game=name,
        rules=" ".join((game_document(name, "summary_document") or game_class(name).about).split()),
        how_to_move=next(iter(made.values())).move_syntax,
        presets=[
            PresetAbout(preset=preset, seats=game.seats, config=dict(game_class(name).presets[preset]))
            for preset, game in made.items()
        ],
    )


def _untold(name: str) -> GameAbout:
    """Return what can be said of a game whose rules are not on this machine."""
    return GameAbout(game=name, rules=RULES_ELSEWHERE_TEXT, how_to_move="one that look lists", presets=[])
