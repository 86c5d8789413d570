"""Finished matches for tools: lists, replays, grades and leaderboards."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from bots.agents.answers import CUSTOM_CONFIG_TEXT
from bots.agents.page import PageClient, PageError
from bots.client import turn_text
from protocol import games
from protocol.display import escape_unprintable, format_count, format_rating
from protocol.errors import Fault
from protocol.games.wire_game import load_client_game
from protocol.messages import Event, Player

MAX_PLIES = 100
"""The maximum number of plies of a replay in one answer. The tool's argument `from_ply` asks for later plies."""
MAX_GRADED_MOVES = 20
"""The maximum number of moves that an answer about grades lists."""


class FoundMatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished match."""

    match: Annotated[str, Meta(description="the id of the match")]
    game: Annotated[str, Meta(description="the name of the game")]
    pool: Annotated[str | None, Meta(description="the pool that rated it; absent if it is unrated")] = None
    bots: Annotated[list[str], Meta(description="the names of the players in seat order")]
    ranks: Annotated[list[int], Meta(description="the rank of each player, in the same order; 1 is best")]
    reason: Annotated[str, Meta(description="the reason why it ended")]
    plies: Annotated[int, Meta(description="the number of steps")]
    finished: Annotated[str, Meta(description="the time of its end, in UTC")]


class Found(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Finished matches, newest first."""

    matches: Annotated[list[FoundMatch], Meta(description="the matches, newest first")]

    def format_text(self) -> str:
        return (
            "\n".join(
                f"{one.match}: {one.pool or f'{one.game} ({CUSTOM_CONFIG_TEXT})'}, "
                + ", ".join(f"{bot} rank {rank}" for bot, rank in zip(one.bots, one.ranks, strict=True))
                + f" ({one.reason}), {one.plies} plies, {one.finished}"
                for one in self.matches
            )
            or "no finished match meets these conditions"
        )


class ReplayPly(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The move or event at a ply, with its result and the bot's own comment."""

    ply: Annotated[int, Meta(description="the number of the step, from 0")]
    happened: Annotated[str, Meta(description="the move or the event, with its result")]
    value: Annotated[float | None, Meta(description="the bot's own evaluation of the position")] = None
    note: Annotated[str, Meta(description="the bot's own note on the move")] = ""


class Replay(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished match, or a part of it. Notes are the players' own words."""

    match: Annotated[str, Meta(description="the id of the match")]
    game: Annotated[str, Meta(description="the name of the game")]
    pool: Annotated[str | None, Meta(description="the pool that rated it; absent if it is unrated")] = None
    bots: Annotated[list[str], Meta(description="the names of the players in seat order")]
    ranks: Annotated[list[int], Meta(description="the rank of each player, in the same order; 1 is best")]
    reason: Annotated[str, Meta(description="the reason why it ended")]
    plies: Annotated[list[ReplayPly], Meta(description="the steps of the match, or some of them")]
    board: Annotated[str, Meta(description="the position after the last of these plies, in words")] = ""
    next_ply: Annotated[int | None, Meta(description="the from_ply of the next part; absent at the end")] = None

    def format_text(self) -> str:
        seats = ", ".join(
            f"seat {i} {bot} rank {rank}" for i, (bot, rank) in enumerate(zip(self.bots, self.ranks, strict=True))
        )
        lines = [f"{self.match}: {self.pool or f'{self.game} ({CUSTOM_CONFIG_TEXT})'}, {seats} ({self.reason})"]
        for one in self.plies:
            said = [f"value {one.value:g}"] if one.value is not None else []
            said += [f'note "{one.note}"'] if one.note else []
            lines.append(f"{one.ply}. {one.happened}" + (f" ({', '.join(said)})" if said else ""))
        lines.append(self.board)
        if self.next_ply is not None:
            lines.append(f"more plies follow: call read_replay with from_ply {self.next_ply}")
        return "\n".join(filter(None, lines))


class GradedMove(Struct, frozen=True, kw_only=True):
    """A move that was worse than the best one. Its loss `gave_away` is measured in the answer's `unit`, or in expected
    result (from −1 to +1) if the answer has no unit.
    """

    ply: Annotated[int, Meta(description="the number of the step")]
    bot: Annotated[str, Meta(description="the bot that moved")]
    move: Annotated[str, Meta(description="the move")]
    best: Annotated[str, Meta(description="a better move")]
    gave_away: Annotated[float, Meta(description="the expected loss")]


class SeatGrade(Struct, frozen=True, kw_only=True):
    """The mean loss of a bot's moves; None without moves."""

    bot: Annotated[str, Meta(description="the player's name")]
    moves: Annotated[int, Meta(description="the number of graded moves")]
    mean: Annotated[float | None, Meta(description="the mean loss of a move; null without moves")]


class GradesAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The losses of a match's moves against exact play. `worst` has the costliest moves, worst first."""

    match: Annotated[str, Meta(description="the id of the match")]
    seats: Annotated[list[SeatGrade], Meta(description="the mean losses in seat order")]
    worst: Annotated[list[GradedMove], Meta(description="the costliest moves, worst first")]
    unit: Annotated[
        str | None, Meta(description="the unit of losses, such as chips; absent for expected results from -1 to +1")
    ] = None

    def format_text(self) -> str:
        of = f" {self.unit}" if self.unit else ""
        lines = [f"{one.bot}: {_format_grade(one, of)}" for one in self.seats]
        lines += [
            f"{one.ply}. {one.bot}: {one.move} gave away {one.gave_away:.3f}{of}; best was {one.best}"
            for one in self.worst
        ]
        if not self.unit:
            lines.append("losses are in expected results, from -1 to +1: 2.000 turns a win into a defeat")
        return "\n".join(lines) + ("" if self.worst else "\nno move gave anything away")


def _format_grade(grade: SeatGrade, of: str) -> str:
    if grade.mean is None:
        return "made no move"
    return f"{format_count(grade.moves, 'move', 'moves')} gave away {grade.mean:.3f}{of} on average"


class Standing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of a leaderboard."""

    rank: Annotated[int, Meta(description="the rank on the leaderboard")]
    bot: Annotated[str, Meta(description="the name")]
    rating: Annotated[str, Meta(description="the mean rating ± 3 standard deviations")]
    played: Annotated[int, Meta(description="the number of rated matches")]
    payoff: Annotated[
        float | None, Meta(description="the mean payoff per round, in games whose result is a payoff")
    ] = None

    def format_text(self) -> str:
        paid = "" if self.payoff is None else f"payoff {self.payoff:.3f}, "
        return f"{self.rank}. {self.bot}: {paid}{self.rating} after {format_count(self.played, 'match', 'matches')}"


class Leaders(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The top of a leaderboard."""

    pool: Annotated[str, Meta(description="the pool, GAME/PRESET")]
    bots: Annotated[list[Standing], Meta(description="the leading bots, best first")]

    def format_text(self) -> str:
        rows = [one.format_text() for one in self.bots]
        return "\n".join([f"{self.pool}:", *(rows or ["no match has been rated yet"])])


def find_matches(page: PageClient, limit: int, **conditions: Any) -> Found:
    """Return the latest finished matches that meet all the given conditions."""
    rows = page.fetch("matches", limit=limit, **conditions)["rows"]
    return Found(
        matches=[
            FoundMatch(
                match=row["match"],
                game=row["game"],
                pool=row["pool"],
                bots=[seat["bot"] for seat in row["seats"]],
                ranks=[seat["rank"] for seat in row["seats"]],
                reason=row["reason"],
                plies=row["plies"],
                finished=row["finished"],
            )
            for row in rows
        ]
    )


def read_replay(page: PageClient, match: str, from_ply: int) -> Replay:
    """Return a finished match from the ply `from_ply` on. Raise `PageError` if the arena's web page does not have the
    match, or if it cannot be replayed.
    """
    told = page.fetch("matches", match)
    header, footer = told["header"], told["footer"]
    try:
        rules = load_client_game(header["game"], header["config"], len(header["seats"]))
    except Fault as exc:
        raise PageError(f"{match} cannot be replayed: {exc}") from exc
    players = [Player(bot=seat["bot"]) for seat in header["seats"]]
    lines = [line for line in told["plies"] if line["event"]["ply"] >= from_ply]
    shown, left = lines[:MAX_PLIES], lines[MAX_PLIES:]
    state = shown[-1].get("state") if shown else told["start"]
    return Replay(
        match=match,
        game=header["game"],
        pool=header.get("pool"),
        bots=[player.bot for player in players],
        ranks=footer["ranks"],
        reason=footer["reason"],
        plies=[_read_ply(line, rules, players) for line in shown],
        board=rules.describe(rules.decode_state(state)) if state else "",
        next_ply=left[0]["event"]["ply"] if left else None,
    )


def _read_ply(line: dict[str, Any], rules: Any, players: list[Player]) -> ReplayPly:
    event, info = Event(**line["event"]), line.get("info") or {}
    said = [(players[one["seat"]].bot, one["info"]["note"]) for one in line.get("sealed", ()) if _has_note(one)]
    return ReplayPly(
        ply=event.ply,
        happened="; ".join(turn_text.format_events(rules, players, None, [event])),
        value=info.get("value"),
        note=escape_unprintable("; ".join(f"{bot}: {note}" for bot, note in said) or info.get("note") or ""),
    )


def _has_note(sealed: dict[str, Any]) -> bool:
    return bool((sealed.get("info") or {}).get("note"))


def read_grades(page: PageClient, match: str) -> GradesAnswer:
    """Return the grades of a match's moves. Raise `PageError` if the page has none: the game may not be solved."""
    told = page.fetch("matches", match, "grades")
    worst = sorted((move for move in told["moves"] if move["gave_away"] > 0), key=lambda move: -move["gave_away"])
    return GradesAnswer(
        match=match,
        seats=[SeatGrade(bot=seat["bot"], moves=seat["moves"], mean=seat["mean"]) for seat in told["seats"]],
        worst=[
            GradedMove(
                ply=move["ply"],
                bot=move["bot"],
                move=move["notation"],
                best=move["best_notation"],
                gave_away=move["gave_away"],
            )
            for move in worst[:MAX_GRADED_MOVES]
        ],
        unit=told.get("unit"),
    )


def read_leaderboard(page: PageClient, game: str, preset: str, limit: int) -> Leaders:
    """Return the top of a preset's leaderboard. Raise `BotFault` or `PageError` if there is no such preset."""
    if games.is_known_game(game):
        games.load_game(game, {"preset": preset})
    told = page.fetch("leaderboard", game, preset, limit=limit)
    return Leaders(
        pool=told["pool"],
        bots=[
            Standing(
                rank=row["rank"],
                bot=row["bot"],
                rating=format_rating(row["mu"], row["sigma"]),
                played=row["played"],
                payoff=row["payoff"]["mean"] if "payoff" in row else None,
            )
            for row in told["rows"]
        ],
    )
