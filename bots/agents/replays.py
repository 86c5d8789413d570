"""Finished matches for tools: lists, replays, grades and leaderboards."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bots.agents.answers import CUSTOM_CONFIG_TEXT
from bots.agents.page import PageClient, PageError
from bots.client import turn_text
from protocol import games
from protocol.display import escape_unprintable, format_count, format_rating
from protocol.errors import Fault
from protocol.messages import Event, Player

MAX_PLIES = 100
"""Plies in one answer; `from_ply` continues."""
MAX_GRADED_MOVES = 20


class FoundMatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished match. `ranks` are those of `bots`: 1 is best."""

    match: str
    game: str
    pool: str | None = None
    bots: list[str]
    ranks: list[int]
    reason: str
    plies: int
    finished: str


class Found(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Finished matches, the newest first."""

    matches: list[FoundMatch]

    def format_text(self) -> str:
        return (
            "\n".join(
                f"{one.match}: {one.pool or f'{one.game} ({CUSTOM_CONFIG_TEXT})'}, "
                + ", ".join(f"{bot} {rank}." for bot, rank in zip(one.bots, one.ranks, strict=True))
                + f" ({one.reason}), {one.plies} plies, {one.finished}"
                for one in self.matches
            )
            or "no finished match is like that"
        )


class ReplayPly(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The move or event at a ply, with its result and the bot's own comment."""

    ply: int
    happened: str
    value: float | None = None
    note: str = ""


class Replay(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished match or a part of it. Notes are the players' own words."""

    match: str
    game: str
    pool: str | None = None
    bots: list[str]
    ranks: list[int]
    reason: str
    plies: list[ReplayPly]
    board: str = ""
    next_ply: int | None = None

    def format_text(self) -> str:
        seats = ", ".join(
            f"seat {i} {bot} came {rank}." for i, (bot, rank) in enumerate(zip(self.bots, self.ranks, strict=True))
        )
        lines = [f"{self.match}: {self.pool or f'{self.game} ({CUSTOM_CONFIG_TEXT})'}, {seats} ({self.reason})"]
        for one in self.plies:
            said = [f"value {one.value:g}"] if one.value is not None else []
            said += [f'note "{one.note}"'] if one.note else []
            lines.append(f"{one.ply}. {one.happened}" + (f" ({', '.join(said)})" if said else ""))
        lines.append(self.board)
        if self.next_ply is not None:
            lines.append(f"it goes on: read_replay with from_ply {self.next_ply}")
        return "\n".join(filter(None, lines))


class GradedMove(Struct, frozen=True, kw_only=True):
    """A move that gave something away, in expected results from −1 to +1 or in a unit."""

    ply: int
    bot: str
    move: str
    best: str
    gave_away: float


class SeatGrade(Struct, frozen=True, kw_only=True):
    """The mean loss of a bot's moves; None without moves."""

    bot: str
    moves: int
    mean: float | None


class GradesAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a match's moves lost against exact play, in results unless a `unit` such as chips is given; worst first."""

    match: str
    seats: list[SeatGrade]
    worst: list[GradedMove]
    unit: str | None = None

    def format_text(self) -> str:
        of = f" {self.unit}" if self.unit else ""
        lines = [f"{one.bot}: {_format_grade(one, of)}" for one in self.seats]
        lines += [
            f"{one.ply}. {one.bot}: {one.move} gave away {one.gave_away:.3f}{of}; best was {one.best}"
            for one in self.worst
        ]
        if not self.unit:
            lines.append("in expected results, -1 to +1: 2.000 is a win given away")
        return "\n".join(lines) + ("" if self.worst else "\nno move gave anything away")


def _format_grade(grade: SeatGrade, of: str) -> str:
    if grade.mean is None:
        return "made no move"
    return f"{format_count(grade.moves, 'move', 'moves')} gave away {grade.mean:.3f}{of} on average"


class Standing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bot on a leaderboard; `rating` with three standard deviations, as pages show it, and its mean `payoff` where
    that is the result.
    """

    rank: int
    bot: str
    rating: str
    played: int
    payoff: float | None = None

    def format_text(self) -> str:
        paid = "" if self.payoff is None else f"payoff {self.payoff:.3f}, "
        return f"{self.rank}. {self.bot}: {paid}{self.rating} after {self.played}"


class Leaders(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The top of a leaderboard."""

    pool: str
    bots: list[Standing]

    def format_text(self) -> str:
        rows = [one.format_text() for one in self.bots]
        return "\n".join([f"{self.pool}:", *(rows or ["nobody has played it yet"])])


def find_matches(page: PageClient, limit: int, **conditions: str | None) -> Found:
    """Return the matches that meet all the conditions."""
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
    """Return a finished match from a ply on. Raises `PageError`."""
    told = page.fetch("matches", match)
    header, footer = told["header"], told["footer"]
    try:
        rules = games.shared_game(header["game"], header["config"])
    except Fault as exc:
        raise PageError(f"{match} can't be read here: {exc}") from exc
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
    """Return the grades of a match's moves. Raises `PageError`, also if the game is not solved."""
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
    """Return the leaders at a preset of a game. Raises `BotFault` if there is no such preset."""
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
