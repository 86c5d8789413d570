"""The settings of a running bot: from the command line, the environment and the code, in this order of precedence.

The module parses the texts of settings. It is given the environment variables, and only reads files that a value names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, TypeVar

from machine.arguments import add_preset, read_value
from machine.host_names import split_address
from protocol import DEFAULT_PORT, bot_launch
from protocol.display import short_repr
from protocol.errors import BadConfig, UsageFault
from protocol.games import game_class, is_known_game
from protocol.messages import MAX_SLOTS, MAX_TOKEN_CHARS, MIN_TOKEN_CHARS
from protocol.names import NAME_DESCRIPTION, is_bot_name
from protocol.secret_text import find_invisible, strip_invisible

Name = TypeVar("Name", bound=str)
DEFAULT_URL = f"ws://127.0.0.1:{DEFAULT_PORT}"
"""The URL of an arena on this machine."""
DEFAULT_OPEN_SLOTS = 16
"""A bot that takes any match has at least this many slots by default."""
OPEN_MATCH_SLOTS = 8
"""The default number of slots of a bot that takes any match, beyond one slot for each of its games. Altogether, the bot
has at least `DEFAULT_OPEN_SLOTS`."""
MAX_MIN_MOVE_TIME_S = 60.0
"""The highest value of `--min-move-time`, in seconds."""
ASSIGNED_PATIENCE_S = 5.0
"""Default patience of a bot in a tournament, in seconds. It is short because the arena runs on the same machine."""


class PartialSettings(TypedDict, total=False):
    """The settings from one source: code, environment or command line. None means that another source decides."""

    url: str | None
    token: str | None
    token_fd: int | None
    name: str | None
    game: str | None
    config: Mapping[str, Any] | None
    matches: int | None
    slots: int | None
    seed: str | None
    rated: bool | None
    opponent: str | None
    against: str | None
    submit: bool | None
    status: bool | None
    open: bool | None
    min_move_time: float | None
    patience: float | None
    assigned: bool | None
    single_node: bool | None
    hosts: str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one bot."""

    url: str = DEFAULT_URL
    token: str | None = None
    """The bot's token. None means the token at `token_fd`, else the saved token, else a new one, which is saved."""
    token_fd: int | None = None
    name: str | None = None
    game: str | None = None
    """The game to seek. None means the first of the bot's games that the arena plays."""
    config: Mapping[str, Any] = field(default_factory=dict)
    matches: int | None = None
    slots: int = 1
    seed: str | None = None
    rated: bool = True
    opponent: str | None = None
    against: str | None = None
    """The file of another version of the bot, to play against on this machine, without an arena."""
    submit: bool = False
    """True to hand the program in at the arena, which checks and runs it, instead of playing."""
    status: bool = False
    """True to show how the arena runs the program that was handed in, instead of playing."""
    open: bool = False
    """True to take any match of `game` or, without a game, any match of all games that the bot plays."""
    min_move_time: float = 0.0
    """The minimum seconds that a move takes, so that spectators can follow, but at most a twentieth of the time
    left."""
    patience: float | None = None
    """The seconds for which the bot keeps trying while the arena cannot be reached. None means for ever."""
    assigned: bool = False
    """True if a tournament assigns the matches: the bot makes no seeks, and stops when the arena closes."""
    single_node: bool = False
    """True to connect to no other node of the arena than the one at `url`."""
    hosts: tuple[str, ...] = ()
    """Further hosts on which the arena may have nodes: `b.example`, or `*.example` for all its subdomains."""


def merge_settings(*sources: PartialSettings, games: int = 1) -> Settings:
    """Return a bot's settings, each from the first source that has it. Raise `UsageFault` if the settings cannot work.

    A config belongs to the game that its own source names. It is dropped if an earlier source names another game. The
    default number of slots follows from `games`, the number of games that the bot plays.
    """
    settled: dict[str, Any] = {}
    for source in sources:
        foreign = source.get("game") is not None and settled.get("game") not in (None, source.get("game"))
        for key, value in source.items():
            if value is not None and not (key == "config" and foreign):
                settled.setdefault(key, value)
    if settled.get("open"):
        sought = 1 if settled.get("game") is not None else games
        settled.setdefault("slots", min(MAX_SLOTS, max(DEFAULT_OPEN_SLOTS, sought + OPEN_MATCH_SLOTS)))
    if settled.get("assigned"):
        settled.setdefault("patience", ASSIGNED_PATIENCE_S)
    if isinstance(settled.get("hosts"), str):
        settled["hosts"] = read_hosts(settled["hosts"])
    if settled.get("token") is not None:
        settled["token"] = read_token(settled["token"])
    settings = Settings(**settled)
    _check(settings)
    return settings


def read_environment(environ: Mapping[str, str]) -> PartialSettings:
    """Return the settings in those `ARENA_…` variables that are not empty. Raise `UsageFault` if one is invalid."""
    given = {variable: environ[variable] for variable in _VARIABLES if environ.get(variable)}
    settings: PartialSettings = {}
    for variable, text in given.items():
        key, convert = _VARIABLES[variable]
        try:
            settings[key] = convert(text)  # type: ignore[literal-required]
        except ValueError as exc:
            right = "a map in JSON" if convert is _read_map else "a number"
            raise UsageFault(f"{variable} is {text[:40]!r}: it must be {right}") from exc
    return settings


def _read_map(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    if not isinstance(read, dict):
        raise ValueError("not a map")
    return read


def read_hosts(text: str) -> tuple[str, ...]:
    """Return the host names in a text like `a.example,*.b.example`, in lower case. Raise `UsageFault` if a name
    is invalid.
    """
    hosts = tuple(part.lower() for part in filter(None, map(str.strip, text.split(","))))
    for host in hosts:
        if not re.fullmatch(r"(\*\.)?[\w.:-]+", host):
            raise UsageFault(
                f"--hosts or ARENA_HOSTS has {short_repr(host, 80)}: give host names, like a.example,*.b.example"
            )
    return hosts


def _read_switch(text: str) -> bool:
    return text not in ("0", "false", "no")


_VARIABLES: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    bot_launch.URL_VARIABLE: ("url", str),
    bot_launch.TOKEN_VARIABLE: ("token", str),
    bot_launch.TOKEN_FD_VARIABLE: ("token_fd", int),
    bot_launch.BOT_VARIABLE: ("name", str),
    bot_launch.GAME_VARIABLE: ("game", str),
    bot_launch.CONFIG_VARIABLE: ("config", _read_map),
    bot_launch.MATCHES_VARIABLE: ("matches", int),
    bot_launch.SLOTS_VARIABLE: ("slots", int),
    bot_launch.SEED_VARIABLE: ("seed", str),
    bot_launch.RECONNECT_TIMEOUT_VARIABLE: ("patience", float),
    bot_launch.ASSIGNED_MATCHES_VARIABLE: ("assigned", _read_switch),
    bot_launch.PIN_NODE_VARIABLE: ("single_node", _read_switch),
    bot_launch.HOSTS_VARIABLE: ("hosts", str),
}
"""The setting that an environment variable sets and the function that converts its text, by variable."""


def _check(settings: Settings) -> None:
    check_url(settings.url)
    for what, name in (("the bot's name", settings.name), ("the opponent", settings.opponent)):
        if name is not None:
            check_name(name, what)
    if not 1 <= settings.slots <= MAX_SLOTS:
        raise UsageFault(f"slots is {settings.slots}: it must be 1 to {MAX_SLOTS}")
    if not 0 <= settings.min_move_time <= MAX_MIN_MOVE_TIME_S:
        raise UsageFault(
            f"min_move_time is {settings.min_move_time:g}: it must be 0 to {MAX_MIN_MOVE_TIME_S:g} seconds"
        )
    if settings.matches is not None and settings.matches < 1:
        raise UsageFault(f"matches is {settings.matches}: it must be 1 or more")
    if settings.open and (settings.config or settings.opponent or not settings.rated):
        raise UsageFault("--open takes any match: leave out --preset, --config, --opponent and --unrated")
    if settings.config and settings.game is None:
        raise UsageFault("a preset or config needs a game: add --game NAME")
    if settings.game is not None and is_known_game(settings.game):
        try:
            game_class(settings.game)(settings.config)
        except BadConfig as exc:
            raise UsageFault(str(exc)) from exc


def check_url(url: str) -> None:
    """Raise `UsageFault` unless `url` is a WebSocket URL without user and password."""
    parts = split_address(url, "ws", "wss")
    if parts is None:
        page = "; http is for its page, which says at /connect where bots connect" if url.startswith("http") else ""
        raise UsageFault(f"the arena's URL is {url[:80]!r}: write it like {DEFAULT_URL} or wss://arena.example{page}")
    if parts.username or parts.password:
        raise UsageFault("the arena's URL carries a user or password: the token goes in --token or ARENA_TOKEN")


def read_token(text: str) -> str:
    """Return a token without invisible characters around it. Raise `UsageFault` if `text` is no token."""
    token = strip_invisible(text)
    hidden = find_invisible(token)
    if hidden is not None:
        raise UsageFault(f"the token has {hidden}, which is invisible: copy the token again without it")
    if not MIN_TOKEN_CHARS <= len(token) <= MAX_TOKEN_CHARS:
        raise UsageFault(f"the token has {len(token)} characters: a token has {MIN_TOKEN_CHARS} to {MAX_TOKEN_CHARS}")
    return token


def check_name(name: str, what: str) -> None:
    """Raise `UsageFault` unless `name` is a valid bot name. The message calls it `what`."""
    if not is_bot_name(name):
        raise UsageFault(f"{what} is {name[:40]!r}: {NAME_DESCRIPTION}")


def read_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """Return a dict from texts `key=value`. If a text has another form, raise `UsageFault` that names `option`."""
    read = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageFault(f"{option} {pair[:40]!r}: it must be key=value")
        read[key] = value
    return read


def read_config(pairs: Iterable[str], preset: str | None, option: str = "--config") -> dict[str, Any] | None:
    """Return a game's config from `--preset` and the `key=value` of `option`; None without either. Raise `UsageFault`
    if it is invalid.

    A value is JSON (`true`, `null`, `5`, `[3,5]`), a list with commas (`3,5,7`) or a file (`@my.toml`), else a text.
    """
    config: dict[str, Any] = {key: read_value(text) for key, text in read_pairs(pairs, option).items()}
    add_preset(config, preset, option)
    return config or None


def read_choice(bot: str, key: str, text: str, choices: Sequence[Name]) -> Name:
    """Return the value of a setting. Raise `UsageFault` if it is not one of `choices`."""
    for name in choices:
        if name == text:
            return name
    raise UsageFault(f"{bot}: {key} is {text[:40]!r}: one of {', '.join(choices)}")


def read_integer(bot: str, key: str, value: object, max_value: int) -> int | None:
    """Return a setting as an integer; None for None. Raise `UsageFault` unless it is from 1 to `max_value`."""
    if value is None:
        return None
    try:
        number = int(value) if isinstance(value, (int, str)) else 0
    except ValueError:
        number = 0
    if not 1 <= number <= max_value:
        raise UsageFault(f"{bot}: {key} is {str(value)[:40]!r}: it must be an integer from 1 to {max_value}")
    return number
