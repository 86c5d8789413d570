"""The manifest of a hosted bot, `bot.toml`: the games that it plays, and how its program is built and started."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from arena.hosting.kept_files import check_kept_names
from arena.hosting.languages import ending_of, language_of, recipe_of
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.field_errors import field_error
from protocol.submissions import is_zip

MANIFEST_FILE = "bot.toml"
"""The path of the manifest in a submission."""
MAX_MANIFEST_BYTES = 16 * 1024
"""Maximum bytes of a manifest. To parse one takes time that grows with the square of its size."""
MAX_GAMES = 8
"""Maximum number of games of a hosted bot."""
MAX_COMMAND_WORDS, MAX_WORD_CHARS = 32, 256
"""Maximum words of a command, and characters of a word."""


class _Declaration(Struct, forbid_unknown_fields=True):
    """The fields of `bot.toml`, as the author wrote them."""

    games: list[str]
    language: str | None = None
    file: str | None = None
    command: list[str] | None = None
    build: list[str] | None = None
    keep: list[str] = []
    keep_over_versions: bool = False


class Manifest(Struct, frozen=True, kw_only=True):
    """The declaration of a hosted bot: its games, and the commands that build and start its program in its folder."""

    games: tuple[str, ...]
    command: tuple[str, ...]
    build: tuple[str, ...] = ()
    language: str = ""
    """The language; empty if the manifest only has commands."""
    keep: tuple[str, ...] = ()
    """The names of the files that the program keeps between matches."""
    keep_over_versions: bool = False
    """True if a version finds the files that the version before has kept."""


def read_manifest(files: Mapping[str, bytes], games: Collection[str]) -> Manifest:
    """Return the manifest among the files of a submission. `games` are those that the arena has.

    Raise `UsageFault` if there is none, or if it is wrong.
    """
    if MANIFEST_FILE not in files:
        raise UsageFault(_describe_missing_manifest(files, games))
    size = len(files[MANIFEST_FILE])
    if size > MAX_MANIFEST_BYTES:
        raise UsageFault(f"{MANIFEST_FILE} has {size} bytes: at most {MAX_MANIFEST_BYTES}")
    try:
        text = files[MANIFEST_FILE].decode("utf-8-sig")  # some editors begin a file with a mark
        fields = tomllib.loads(text)
    except (ValueError, RecursionError) as exc:  # not UTF-8, not TOML, or a number of too many digits
        raise UsageFault(f"{MANIFEST_FILE} is not TOML: {exc}") from exc
    if "games" not in fields:
        raise UsageFault(f"{MANIFEST_FILE}: games is missing: add a line like games = {json.dumps(sorted(games)[:1])}")
    wrong = field_error(fields, _Declaration)
    if wrong is not None:
        raise UsageFault(f"{MANIFEST_FILE}: {wrong}")
    try:
        return _resolve(msgspec.convert(fields, _Declaration), files, games)
    except UsageFault as fault:
        raise UsageFault(f"{MANIFEST_FILE}: {fault}") from fault


def _describe_missing_manifest(files: Mapping[str, bytes], games: Collection[str]) -> str:
    deeper = min((path for path in files if path.endswith(f"/{MANIFEST_FILE}")), default="")
    if deeper:
        folder = short_repr(deeper.removesuffix(f"/{MANIFEST_FILE}"))
        return f"{MANIFEST_FILE} is in the folder {folder}: hand in this folder alone"
    inner = min((path for path in files if is_zip(path)), default="")
    if inner:
        return f"there is no {MANIFEST_FILE}, but another zip, {short_repr(inner)}: hand that one in"
    return (
        f'there is no {MANIFEST_FILE}: add one beside the program, with a line like language = "python" and '
        f"a line like games = {json.dumps(sorted(games)[:1])}"
    )


def _resolve(declaration: _Declaration, files: Mapping[str, bytes], games: Collection[str]) -> Manifest:
    for game in declaration.games:
        if game not in games:
            raise UsageFault(f"games has {short_repr(game)}: {list_choices(sorted(games))}")
    chosen = tuple(dict.fromkeys(declaration.games))
    if not 1 <= len(chosen) <= MAX_GAMES:
        raise UsageFault(f"games has {len(chosen)} games: 1 to {MAX_GAMES}")
    for field, words in (("command", declaration.command), ("build", declaration.build)):
        if words is not None:
            _check_words(field, words)
    check_kept_names(declaration.keep)
    if declaration.keep_over_versions and not declaration.keep:
        raise UsageFault('keep_over_versions needs files to keep, as in keep = ["opinions.json"]')
    return replace(
        _resolve_commands(declaration, chosen, files),
        keep=tuple(dict.fromkeys(declaration.keep)),
        keep_over_versions=declaration.keep_over_versions,
    )


def _resolve_commands(declaration: _Declaration, games: tuple[str, ...], files: Mapping[str, bytes]) -> Manifest:
    if declaration.language is not None:
        ending_of(declaration.language)  # refuses an unknown one
    if declaration.command is not None:
        return Manifest(
            games=games,
            command=tuple(declaration.command),
            build=tuple(declaration.build or ()),
            language=declaration.language or "",
        )
    if declaration.language is None and declaration.file is None:
        raise UsageFault('there is no command: write language = "python", or command = ["./mybot"]')
    language = language_of(declaration.file or "") if declaration.language is None else declaration.language
    file = _main_file(declaration.file, ending_of(language), files)
    if file.startswith("-"):
        raise UsageFault(
            f"file is {short_repr(file)}, which {language} takes for an option: let its name begin otherwise"
        )
    build, command = recipe_of(language, file, files[file].decode("utf-8-sig", "replace"))
    if declaration.build is not None:
        build = tuple(declaration.build)
    return Manifest(games=games, command=command, build=build, language=language)


def _check_words(field: str, words: Sequence[str]) -> None:
    if not 1 <= len(words) <= MAX_COMMAND_WORDS:
        raise UsageFault(f"{field} has {len(words)} words: 1 to {MAX_COMMAND_WORDS}")
    for word in words:
        if not word or len(word) > MAX_WORD_CHARS or not word.isprintable():
            raise UsageFault(f"{field} has {short_repr(word)}: a word has 1 to {MAX_WORD_CHARS} printable characters")


def _main_file(named: str | None, ending: str, files: Mapping[str, bytes]) -> str:
    """Return the path of the program's main file: the one that is `named`, or the only one with the `ending`."""
    if named is not None:
        if named not in files:
            raise UsageFault(f"file is {short_repr(named)}, which was not handed in")
        return named
    found = [path for path in files if path.endswith(ending) and "/" not in path]
    if len(found) != 1:
        there = f"{len(found)} files end in {ending}" if found else f"no file beside it ends in {ending}"
        raise UsageFault(f'{there}: name the program, as in file = "mybot{ending}"')
    return found[0]


def manifest_of_file(file: str, games: Sequence[str]) -> bytes:
    """Return the text of the manifest for a submission of one file. Raise `UsageFault` for an unknown ending."""
    words = {"language": language_of(file), "file": file, "games": list(games)}
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in words.items()).encode()
