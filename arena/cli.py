"""The `arena` command: its words only. What a command does is in arena/commands, loaded when it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.commands.settings import OF_RECORDS, SETTINGS, Described, data_folder, database
from machine import command_line
from machine.terminal import say
from protocol import VERSION
from protocol.errors import UsageFault

RENAMED = {
    "serve --away": "--reconnect-timeout",
    "serve --pace": "--max-matches-per-hour",
    "tournament --hello-within": "--connect-timeout",
}
"""Options that were called otherwise, with their commands."""


def _group(name: str, says: str) -> typer.Typer:
    """Commands under one word."""
    return typer.Typer(
        name=name, help=says, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )


app = _group("arena", "A networked referee for games between programs.")
replay_app = _group("replay", "Show, verify, grade and export match records.")
bot_app = _group("bot", "Register bots and their tokens.")
match_app = _group("match", "Decide which matches count, and mend their records.")
season_app = _group("season", "Begin ratings anew.")
db_app = _group("db", "Look after the database.")
node_app = _group("node", "Look after the servers that share a database.")
for _named in (replay_app, bot_app, match_app, season_app, db_app, node_app):
    app.add_typer(_named)

Data = Annotated[Path | None, typer.Option(help="The data folder [ARENA_DATA; ./arena-data].")]
Database = Annotated[str | None, typer.Option(metavar="URL", help="The database [ARENA_DB; DATA/arena.db].")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Game = Annotated[str | None, typer.Option(help="Only this game.")]
ToPlay = Annotated[str | None, typer.Option("--game", help="The game to play  [required]")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set an option of the game or of a bot.")
]
LuckBy = Annotated[str | None, typer.Option("--value", metavar="NAME", help="What luck is measured by [the best].")]
Target = Annotated[str, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest there is.")]
BotName = Annotated[str, typer.Argument(metavar="NAME")]
BotNames = Annotated[list[str], typer.Argument(metavar="NAME...")]
BOTS = "NAME, NAME=COMMAND or NAME=BOT:KEY=VALUE,…"

Command = Callable[..., None]


def _words_of(taken: Command) -> Mapping[str, inspect.Parameter]:
    """The options and arguments that a function takes, by name."""
    return inspect.signature(taken, eval_str=True).parameters


def _with(theirs: Mapping[str, inspect.Parameter]) -> Callable[[Command], Command]:
    """Have a command take these options in place of its own `words`, which are what was given for them, by name."""

    def with_theirs(command: Command) -> Command:
        own = _words_of(command).values()
        shown = [one for each in own for one in (theirs.values() if each.name == "words" else [each])]

        @wraps(command)
        def run(**given: Any) -> None:
            words = {name: given.pop(name) for name in theirs}
            command(**given, words=words)

        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return run

    return with_theirs


def _database_of(flag: str | None, data: Path | None) -> str:
    """The database that is meant."""
    return database(flag, data_folder(data))


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"bot-arena {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _option_of(name: str, described: Described) -> inspect.Parameter:
    """A setting of the server as an option of the command line, where it may be left out."""
    kind, setting = described
    option = typer.Option(*setting.flags, metavar=setting.metavar, help=setting.help)
    of: Any = list[str] if setting.many else kind
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[of | None, option]
    )


_OF_SERVE = {name: _option_of(name, described) for name, described in SETTINGS.items()}
ConfigFile = Annotated[Path | None, typer.Option(help="A TOML file with any of these [ARENA_CONFIG_FILE].")]


def _joined(words: Mapping[str, Any]) -> dict[str, Any]:
    """Options as settings have them: those that were given more than once as a list with commas."""
    return {key: ",".join(value) if isinstance(value, list) else value for key, value in words.items()}


@app.command()
@_with(_OF_SERVE)
def serve(*, words: dict[str, Any], config: ConfigFile = None) -> None:
    """Serve until stopped. Every option may also come as ARENA_… from the environment."""
    from arena.commands.config import settings
    from arena.commands.serve import run
    from arena.commands.serve_nodes import run_nodes

    found = settings(_joined(words), config)
    (run if found.nodes == 1 else run_nodes)(found)


@app.command("config")
@_with(_OF_SERVE)
def show_config(*, words: dict[str, Any], config: ConfigFile = None, to_json: Json = False) -> None:
    """What `arena serve` with the same options would go by, and where each setting is from."""
    from arena.commands.config import in_force, show
    from arena.commands.serve import check_what_is_named

    found = in_force(_joined(words), config)
    check_what_is_named(found.settings)
    show(found, to_json=to_json)


@app.command()
def web(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--web-port", help="The port to listen on; 0: any free one.")] = 8080,
    db: Database = None,
    data: Data = None,
) -> None:
    """Look at the data of a tournament, or of a server that does not run, in a browser."""
    from arena.commands.web import web as command

    command(_database_of(db, data), host, port)


def _of_any_tournament(
    *,
    clock: Annotated[str, typer.Option("--clock", help="Seconds and increment.")] = "10+0.1",
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same matches.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Workers, each with a match at a time.")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    in_process: Annotated[bool, typer.Option("--in-process", help="Bots of the library within the workers.")] = False,
    db: Database = None,
    data: Data = None,
    to_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the results there.")] = None,
    pass_env: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A variable that bots get too.")] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Where your own bots run: none, users or bwrap.")] = "none",
    read: Annotated[
        list[Path] | None, typer.Option("--read", metavar="PATH", help="What bots may read in a sandbox.")
    ] = None,
    memory: Annotated[int, typer.Option(metavar="MIB", help="Memory of each process in a sandbox.")] = 2048,
) -> None:
    """The words of every command that plays matches of local bots."""


@app.command()
@_with(_words_of(_of_any_tournament))
def tournament(
    *,
    bots: Annotated[list[str] | None, typer.Argument(metavar="BOT...", help=BOTS)] = None,
    entrants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who plays, too: CSV or TOML with name and command, or bot.")
    ] = None,
    game: ToPlay = None,
    sets: Sets = None,
    form: Annotated[str, typer.Option("--format", help="round-robin, gauntlet or swiss.")] = "round-robin",
    rounds: Annotated[int, typer.Option(help="How often everyone meets; of a swiss: the rounds.")] = 1,
    paired: Annotated[bool, typer.Option("--paired", help="Every start twice, with the seats swapped.")] = False,
    strict: Annotated[
        bool | None, typer.Option("--strict/--no-strict", help="Stop when a bot fails for good [of two bots only].")
    ] = None,
    connect_timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Connect timeout of a bot.")] = 180.0,
    raw: Annotated[bool, typer.Option("--raw", help="Rank by results as they are, luck and all.")] = False,
    at: Annotated[
        str | None, typer.Option(metavar="URL|FOLDER", help="Among the bots of a running server, by their names.")
    ] = None,
    operator_token: Annotated[
        str | None, typer.Option(envvar="ARENA_OPERATOR_TOKEN", help="Of the server at a URL.")
    ] = None,
    words: dict[str, Any],
) -> None:
    """Play a tournament of local bots, or what is missing of it."""
    given = locals() | words
    from arena.commands.name_list import read_entrants
    from arena.commands.tournament import run
    from arena.commands.tournament_options import TournamentOptions

    del given["words"], given["entrants"]
    if not bots and entrants is None:
        raise UsageFault("who plays? Name the bots, or a file of them with --entrants")
    given["bots"] = [*(bots or ()), *([] if entrants is None else read_entrants(entrants))]
    run(TournamentOptions(**_read(given)))


@app.command("try")
def try_bots(
    *,
    bots: Annotated[list[str], typer.Argument(metavar="BOT...", help="NAME, FILE.py, NAME=FILE.py, in seat order.")],
    game: ToPlay = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="A preset of the game.")] = None,
    sets: Sets = None,
    clock: Annotated[str, typer.Option("--clock", help="Seconds and increment.")] = "10+0.1",
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same dice.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Play again at every save of a bot's file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show how it ended, and no board.")] = False,
    moves_per_second: Annotated[
        float | None, typer.Option(help="How fast it is shown [4; not at a terminal: as fast as it goes].")
    ] = None,
) -> None:
    """Play one match of bots in this process, and show it as it goes: without a server, and nothing is kept."""
    given = locals()
    from arena.commands.try_bots import TryOptions, run

    run(TryOptions(**{**given, "game": _named_game(game), "sets": sets or ()}))


@app.command("test")
@_with(_words_of(_of_any_tournament))
def sprt(
    *,
    bots: Annotated[list[str], typer.Argument(metavar="A B...", help=BOTS)],
    game: ToPlay = None,
    sets: Sets = None,
    h0: Annotated[float | None, typer.Option(help="Null hypothesis: A's advantage [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="Alternative: A's advantage [0.02], a score above one half.")] = None,
    unit: Annotated[str, typer.Option(help="Of both: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="How often to be wrong where A is no better.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to be wrong where it is.")] = 0.05,
    raw: Annotated[bool, typer.Option("--raw", help="Of results as they are, luck and all.")] = False,
    value: Annotated[str | None, typer.Option(help="What luck is measured by [the best there is].")] = None,
    pairs: Annotated[int | None, typer.Option(help="Exactly so many, whatever they show; a plan's pilot [50].")] = None,
    most: Annotated[int | None, typer.Option(help="At most so many pairs [10000].")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what the test will take, by other pairs than its own.")
    ] = False,
    pilot: Annotated[Path | None, typer.Option(metavar="FILE", help="Of a plan: pairs that --json wrote.")] = None,
    seats: Annotated[int | None, typer.Option(help="Seats of A, where more than two sit in a match [1].")] = None,
    words: dict[str, Any],
) -> None:
    """Play two bots in pairs of matches until it is clear whether A is better than B, or than each of several."""
    given = locals() | words
    from arena.commands.sprt import SprtOptions, run
    from arena.commands.sprt_plan import run_plan

    del given["words"]
    options = SprtOptions(**_read(given), any_folder=words["data"] is None)
    (run_plan if plan or pilot is not None else run)(options)


@app.command()
def llr(
    counts: Annotated[
        list[int], typer.Argument(metavar="COUNT...", help="Five, of pairs by their points; three, of losses to wins.")
    ],
    h1: Annotated[float, typer.Option(help="Alternative: the first's advantage.")],
    h0: Annotated[float, typer.Option(help="Null hypothesis: the first's advantage.")] = 0.0,
    unit: Annotated[str, typer.Option(help="Of both: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="How often to be wrong where the first is no better.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to be wrong where it is.")] = 0.05,
    to_json: Json = False,
) -> None:
    """What counts of results say: the log likelihood ratio of two hypotheses, score and Elo, with no match at hand."""
    from arena.commands.llr import run
    from measuring.sequential import Hypotheses

    run(counts, Hypotheses(h0=h0, h1=h1, unit=unit, alpha=alpha, beta=beta), to_json=to_json)  # type: ignore[arg-type]


def _read(given: dict[str, Any]) -> dict[str, Any]:
    """A command's words as its options have them. Raises `UsageFault` where no game is named."""
    given["game"] = _named_game(given["game"])
    lists = {name: given[name] or () for name in ("sets", "pass_env", "read")}
    return {**given, **lists, "data": data_folder(given["data"])}


def _named_game(game: str | None) -> str:
    """The game that was named. Raises `UsageFault` where none was."""
    from protocol.games import NAMES

    if game is None:
        raise UsageFault(f"--game is missing: one of {', '.join(NAMES)}")
    return game


@app.command()
def doctor(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What starts the bot.")],
    game: Annotated[str | None, typer.Option(help="The game to play, where the bot does not seek another.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="CASE", help="Only this case of the course.")] = None,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the bot's output goes.")] = None,
    to_json: Json = False,
) -> None:
    """Show how a bot copes with network faults; exit code 1 if it does not."""
    from arena.commands import doctor as doctors

    doctors.examine(command, game, only or (), log, to_json=to_json)


@app.command()
def leaderboard(
    game: Game = None,
    season: Annotated[str | None, typer.Option(metavar="NAME", help="That season's [the one that goes on].")] = None,
    people: Annotated[bool, typer.Option("--people", help="Where people play, with the bots they met.")] = False,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Who stands where: by mu - 3 sigma, or by what bots are paid."""
    from arena.commands import leaderboard as command

    command.leaderboard(_database_of(db, data), game, season, people=people, to_json=to_json, to_csv=to_csv)


@app.command()
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Redraw it every second, until Ctrl-C.")] = False,
    to_json: Json = False,
    data: Data = None,
) -> None:
    """What goes on at the running server: bots and their seeks, matches and clocks, what failed lately."""
    from arena.commands import status as command

    command.status(data_folder(data), watch=watch, to_json=to_json)


@app.command()
def drain(
    within: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop by then; what is under way goes on at the next start.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Begin matches again.")] = False,
    data: Data = None,
) -> None:
    """Have the running server begin no match any more, and stop when those under way are over."""
    from arena.commands import drain as command

    command.drain(data_folder(data), within, undo=undo)


@app.command()
def watch(
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]", help="Its id [the newest].")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with the next match.")] = False,
    url: Annotated[str | None, typer.Option(help="An arena elsewhere [that of the data folder].")] = None,
    data: Data = None,
) -> None:
    """Show a match live, until it is over."""
    from arena.commands import watch as command

    command.watch(data_folder(data), url, match, follow=follow)


def _which(
    *,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="Only this bot's.")] = None,
    opponent: Annotated[str | None, typer.Option(metavar="NAME", help="Only against this one.")] = None,
    game: Annotated[str | None, typer.Option(help="Only of this game.")] = None,
    won: Annotated[bool, typer.Option("--won", help="Only those that the bot won.")] = False,
    lost: Annotated[bool, typer.Option("--lost", help="Only those that it lost.")] = False,
    drawn: Annotated[bool, typer.Option("--drawn", help="Only those that it drew.")] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only such as ended so, for the bot if one is named: timeout.")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="Only such as ended since: 2026-01-31.")] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only such as ended until then, or on that day.")
    ] = None,
    tournament: Annotated[str | None, typer.Option(metavar="ID", help="Only of this tournament.")] = None,
) -> None:
    """The words that choose matches, as `Selection` has them."""


@app.command()
@_with(_words_of(_which))
def matches(
    *,
    words: dict[str, Any],
    limit: Annotated[int | None, typer.Option(help="How many [50; with --json or --csv all].")] = None,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """The matches played, newest first."""
    from arena.commands import matches as command

    command.matches(_database_of(db, data), command.Selection(**words), limit, to_json=to_json, to_csv=to_csv)


@app.command()
@_with(_words_of(_which))
def export(
    *,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="A new folder.")],
    form: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    plies: Annotated[bool, typer.Option("--plies/--no-plies", help="Every move too, or only matches.")] = True,
    words: dict[str, Any],
    db: Database = None,
    data: Data = None,
) -> None:
    """Write matches, their seats and their plies as tables for pandas, polars or a spreadsheet."""
    from arena.commands import export as command
    from arena.commands.matches import Selection

    command.export(_database_of(db, data), to, form, Selection(**words), plies=plies)


@replay_app.command("show")
def replay_show(
    target: Target,
    boards: Annotated[bool, typer.Option("--boards", help="The board after every ply.")] = False,
    step: Annotated[bool, typer.Option("--step", help="Board by board: Enter next, b back, q quit.")] = False,
    play: Annotated[float | None, typer.Option(metavar="SECONDS", help="Board by board, each for so long.")] = None,
    value: LuckBy = None,
    to_json: Json = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Print a match."""
    from arena.commands.replay import show

    show(target, _database_of(db, data), boards=boards, to_json=to_json, step=step, play=play, value=value)


@replay_app.command("verify")
def replay_verify(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[ID|FILE]...", help="latest: the newest; none: all there are.")
    ] = None,
    digest: Annotated[
        str | None, typer.Option(metavar="HEX", help="The digest that `end` told: compare the record with it.")
    ] = None,
    log: Annotated[
        str | None, typer.Option(metavar="URL|FILE", help="An arena whose log has the digest, or a proof of it.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="HEX", help="The key that signs that log.")] = None,
    head: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How far that log was seen: it has to go on from there. Written anew."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where there is nothing to compare it with.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Referee matches again from their records, and compare them with the database, a digest, a log."""
    from arena.commands.record_checks import ExpectedDigest
    from arena.commands.replay import verify

    expected = ExpectedDigest(digest=digest, log=log, key=key, head=head)
    verify(targets or (), _database_of(db, data), expected, strict=strict)


@replay_app.command("grade")
def replay_grade(
    target: Annotated[str | None, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest.")] = None,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="What this bot's moves cost, by position.")] = None,
    game: Game = None,
    limit: Annotated[int | None, typer.Option(help="Of a bot: so many of its newest matches [20].")] = None,
    sims: Annotated[int | None, typer.Option(help="Simulations a move where it is not solved [2000].")] = None,
    worst: Annotated[int | None, typer.Option(help="Only so many moves, those that gave away most.")] = None,
    value: LuckBy = None,
    to_json: Json = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Tell what each move of a match gave away, or those of a bot by kind of position."""
    from arena.commands.grade import grade, grade_bot

    if (target is None) == (bot is None):
        raise UsageFault("grade a match, by its ID or FILE, or the matches of a bot, by --bot NAME: one of them")
    if target is not None:
        if limit is not None or game is not None:
            raise UsageFault("--game and --limit are for --bot NAME")
        grade(target, _database_of(db, data), to_json=to_json, value=value, sims=sims, worst=worst)
    elif bot is not None:
        grade_bot(_database_of(db, data), bot, game, limit, to_json=to_json, sims=sims, worst=worst)


@replay_app.command("rerun")
def replay_rerun(
    *,
    target: Annotated[str | None, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest.")] = None,
    bot: Annotated[str, typer.Option(metavar="BOT", help="The new bot: FILE.py, FILE.py:CLASS or BOT:KEY=VALUE,…")],
    every: Annotated[
        str | None, typer.Option("--all", metavar="NAME", help="Instead all matches of this bot, in its seat.")
    ] = None,
    game: Game = None,
    won: Annotated[bool, typer.Option("--won", help="With --all: only those that it won.")] = False,
    lost: Annotated[bool, typer.Option("--lost", help="With --all: only those that it lost.")] = False,
    drawn: Annotated[bool, typer.Option("--drawn", help="With --all: only those that it drew.")] = False,
    tournament: Annotated[
        str | None, typer.Option(metavar="ID", help="With --all: only those of this tournament.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="With --all: so many of the newest.")] = None,
    seat: Annotated[
        str | None, typer.Option(metavar="N|NAME", help="Whose seat it takes [its namesake's, the loser's].")
    ] = None,
    old: Annotated[str | None, typer.Option(metavar="BOT", help="The program of the bot that sat there.")] = None,
    opponent: Annotated[
        list[str] | None, typer.Option(metavar="NAME=BOT", help="The program of another bot of the match.")
    ] = None,
    stand_in: Annotated[
        str | None, typer.Option(metavar="BOT", help="Who plays those whose program is not known [uct, alphabeta].")
    ] = None,
    continuations: Annotated[int, typer.Option(help="How often a match is played on from the first difference.")] = 100,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same continuations.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes that play.")] = 1,
    value: LuckBy = None,
    to_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all of it there.")] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Play a match again with a new bot in a seat: where it first moves otherwise, and what that was worth."""
    from arena.commands.matches import Selection
    from arena.commands.rerun import RerunOptions, run

    if (target is None) == (every is None):
        raise UsageFault("play one match again, by its ID or FILE, or all of a bot, by --all NAME: one of them")
    chosen = Selection(bot=every, game=game, won=won, lost=lost, drawn=drawn, tournament=tournament)
    if every is None and (chosen != Selection() or limit is not None):
        raise UsageFault("--game, --won, --lost, --drawn, --tournament and --limit are for --all NAME")
    run(
        RerunOptions(
            database=_database_of(db, data),
            target=target,
            bot=bot,
            chosen=chosen,
            limit=limit,
            seat=seat,
            old=old,
            opponents=opponent or (),
            stand_in=stand_in,
            continuations=continuations,
            seed=seed,
            jobs=jobs,
            value=value,
            to_json=to_json,
        )
    )


@replay_app.command("export")
def replay_export(
    target: Target,
    to: Annotated[Path, typer.Option(metavar="FILE", help="Its name ends in .jsonl, .jsonl.gz, .json or .html.")],
    db: Database = None,
    data: Data = None,
) -> None:
    """Write a match's record to a file."""
    from arena.commands.replay import export

    export(target, to, _database_of(db, data))


@bot_app.command("add")
def bot_add(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="CSV with a column name; others travel along.")
    ] = None,
    tokens_to: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the tokens go: CSV, new.")] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Register bots, all or none, and give their tokens, this once."""
    from arena.commands.bot_add import add_bots

    add_bots(_database_of(db, data), data_folder(data), names or (), source, tokens_to)


@bot_app.command("list")
def bot_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """The bots known, whether they have a token, and who is online."""
    from arena.commands.bots import list_bots

    list_bots(_database_of(db, data), data_folder(data), to_json=to_json)


@bot_app.command("show")
def bot_show(name: BotName, to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """A bot: where it stands, its versions side by side, its latest matches."""
    from arena.commands.bot_record import show_bot

    show_bot(_database_of(db, data), name, to_json=to_json)


@bot_app.command("rotate")
def bot_rotate(name: BotName, db: Database = None, data: Data = None) -> None:
    """Give a bot a new token and print it, this once; a connection with the old one ends."""
    from arena.commands.bots import rotate_bot

    rotate_bot(_database_of(db, data), data_folder(data), name)


@bot_app.command("revoke")
def bot_revoke(names: BotNames, db: Database = None, data: Data = None) -> None:
    """Let bots in no more, until rotate, and end their connections."""
    from arena.commands.bots import revoke_bots

    revoke_bots(_database_of(db, data), data_folder(data), names)


@bot_app.command("rename")
def bot_rename(
    name: BotName, new: Annotated[str, typer.Argument(metavar="NEW")], db: Database = None, data: Data = None
) -> None:
    """Call a bot otherwise; it keeps its token, its results and its ratings."""
    from arena.commands.bots import rename_bot

    rename_bot(_database_of(db, data), data_folder(data), name, new)


@bot_app.command("delete")
def bot_delete(
    name: BotName,
    records: Annotated[bool, typer.Option("--records", help="The records of its matches, too.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Forget who a bot was, for good; its results stay, under a name that says nothing."""
    from arena.commands.bots import delete_bot

    delete_bot(_database_of(db, data), data_folder(data), name, records=records)


@bot_app.command("approve")
def bot_approve(
    names: BotNames,
    off: Annotated[bool, typer.Option("--off", help="Take it back.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Approve bots, whose matches are rated under --rated approved."""
    from arena.commands.bots import approve_bots

    approve_bots(_database_of(db, data), data_folder(data), names, approved=not off)


@bot_app.command("person")
def bot_person(
    names: BotNames,
    off: Annotated[bool, typer.Option("--off", help="They are bots.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Note that names are people's, who are rated among people; the pages and `human` say it by themselves."""
    from arena.commands.bots import set_people

    set_people(_database_of(db, data), data_folder(data), names, person=not off)


@db_app.command("upgrade")
def db_upgrade(
    backup: Annotated[Path | None, typer.Option(metavar="FILE", help="Copy it there before, if need be.")] = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Bring the schema up to date."""
    from arena.commands.db import upgrade

    upgrade(_database_of(db, data), data_folder(data), backup)


@db_app.command("rebuild-ratings")
def db_rebuild_ratings(db: Database = None, data: Data = None) -> None:
    """Compute all ratings again from the results, and entries that the log lacks."""
    from arena.commands.db import rebuild_ratings

    rebuild_ratings(_database_of(db, data), data_folder(data))


@db_app.command("backup")
def db_backup(to: Annotated[Path, typer.Argument(metavar="FILE")], db: Database = None, data: Data = None) -> None:
    """Copy the database to a new file, also while a server runs."""
    from arena.commands.db import backup

    backup(_database_of(db, data), to)


@db_app.command("copy")
def db_copy(
    source: Annotated[str, typer.Argument(metavar="FROM")],
    to: Annotated[str, typer.Argument(metavar="TO")],
) -> None:
    """Copy an arena to another database: a file or postgresql://…, or @FILE that has such a URL, either way."""
    from arena.commands.db import copy
    from machine.arguments import text_or_file

    copy(text_or_file(source, "FROM"), text_or_file(to, "TO"))


@db_app.command("thin")
@_with({name: _option_of(name, SETTINGS[name]) for name in OF_RECORDS})
def db_thin(
    *,
    words: dict[str, Any],
    config: Annotated[Path | None, typer.Option(help="The server's TOML file, which may say these.")] = None,
    older: Annotated[
        str | None,
        typer.Option(
            metavar="DAYS", help="Instead move unrated ones and the house's to files: older than 90d, or 12w."
        ),
    ] = None,
    rated: Annotated[bool, typer.Option("--rated", help="With --older: those of all rated matches, too.")] = False,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --older: where the files are [archive, with the data].")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how much it would be.")] = False,
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="Make the file smaller, too: without a server, with as much room free.")
    ] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Remove records of old matches, or move them to files, also while a server runs; results and ratings stay."""
    from arena.commands.config import retention, settings
    from arena.commands.db import move, thin
    from machine.arguments import read_days

    where, folder = _database_of(db, data), data_folder(data)
    if older is None:
        if rated or to is not None:
            raise UsageFault("--rated and --to say what --older moves, and where to: --older is missing")
        thin(where, folder, retention(settings(words, config)), vacuum=vacuum, dry_run=dry_run)
        return
    if any(word is not None for word in words.values()):
        raise UsageFault("--older moves records to files, --keep-… and --max-… remove them: one after the other")
    move(where, folder, read_days(older, "--older"), to, rated=rated, vacuum=vacuum, dry_run=dry_run)


@db_app.command("log-key")
def db_log_key(
    new: Annotated[bool, typer.Option("--new", help="Sign with a new one from now on.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Print the public key that signs the log of results."""
    from arena.commands.db import show_log_key

    show_log_key(_database_of(db, data), data_folder(data), new=new)


@db_app.command("check")
def db_check(
    quick: Annotated[bool, typer.Option("--quick", help="Referee no match again.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Whether all adds up: the file, its rows, every result with its record, the ratings."""
    from arena.commands.db import check

    check(_database_of(db, data), quick=quick)


@node_app.command("list")
def node_list(db: Database = None, data: Data = None, json: Json = False) -> None:
    """Which there are, and what goes on there."""
    from arena.commands.nodes import show_nodes

    show_nodes(_database_of(db, data), json=json)


@node_app.command("drain")
def node_drain(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    undo: Annotated[bool, typer.Option("--undo", help="Have it take new matches again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return when no match is under way there.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Have a node take no new matches, until it is started again."""
    from arena.commands.nodes import drain

    drain(_database_of(db, data), name, undo=undo, wait=wait)


@node_app.command("lost")
def node_lost(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Call off the matches of a node whose data folder is gone for good, and list it no more."""
    from arena.commands.nodes import give_up

    give_up(_database_of(db, data), name)


@match_app.command("annul")
def match_annul(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...")] = None,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="All of this bot's.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="Of those, such as ended since: 2026-01-31.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Have them count again.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Have matches count for no rating; they are kept, and marked."""
    from arena.commands.ladder import annul

    annul(_database_of(db, data), data_folder(data), ids or (), bot, since, undo=undo)


@match_app.command("restore")
def match_restore(
    ids: Annotated[list[str], typer.Argument(metavar="ID...")],
    backup: Annotated[Path, typer.Option("--from", metavar="BACKUP", help="A copy that `arena db backup` made.")],
    db: Database = None,
    data: Data = None,
) -> None:
    """Put records back that were removed or are damaged, from a backup."""
    from arena.commands.restore import restore

    restore(_database_of(db, data), ids, backup)


@season_app.command("start")
def season_start(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Begin ratings anew; earlier ladders, records and tokens stay."""
    from arena.commands.ladder import start_season

    start_season(_database_of(db, data), data_folder(data), name)


@season_app.command("list")
def season_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """The seasons there were; the last one goes on."""
    from arena.commands.ladder import list_seasons

    list_seasons(_database_of(db, data), to_json=to_json)


def main() -> None:
    """Run the command."""
    command_line.run(app, "arena", renamed=RENAMED)
