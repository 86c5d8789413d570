"""`arena bot add`: names registered all together or not at all, and their tokens, shown or written once."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from arena.commands.name_list import NAME, NameList, read_name_list
from arena.commands.output import counted, writing
from arena.store import registry
from arena.store.data_folder import FILE
from arena.store.database import DatabaseNotFound
from arena.store.registry import all_bots
from arena.store.store import Store
from arena.store.tokens import hash_token, new_token
from machine.atomic_write import in_place_of
from machine.terminal import say
from protocol.display import csv_cell
from protocol.errors import UsageFault
from protocol.names import NAME_FORM, folded, is_bot_name

GIVEN = "token"
"""The column that is written."""


def add_bots(where: str, names: Sequence[str], source: Path | None, tokens_to: Path | None) -> None:
    """Register bots, and print their tokens, this once, or write them to a new file."""
    if (source is None) == (not names):
        raise UsageFault("name the bots, or a file of names with --from")
    if source is not None and tokens_to is None:
        raise UsageFault("--from needs --tokens-to FILE: where the tokens go, which are shown once")
    if tokens_to is not None and tokens_to.exists():
        raise UsageFault(f"{tokens_to} already exists; not overwritten: choose another name")
    listed = (
        NameList([NAME], [{NAME: name} for name in names], [0] * len(names))
        if source is None
        else read_name_list(source, {GIVEN: "tokens are made here"})
    )
    _check(listed, source, _taken(where))
    tokens = {row[NAME]: new_token() for row in listed.rows}
    hashes = {name: hash_token(token) for name, token in tokens.items()}
    with closing(Store.open(where, checkpoint=False)) as store:
        if tokens_to is not None:
            _register(store, hashes, tokens_to, _document(listed, tokens))
        else:
            store.write(registry.add_bots, hashes)
    _tell(listed, tokens, tokens_to)


def _taken(where: str) -> set[str]:
    """The folded names that have, or had, a token."""
    try:
        with closing(Store.open(where, create=False, checkpoint=False)) as store:
            return {folded(bot.name) for bot in store.read(all_bots) if bot.token_hash or bot.revoked}
    except DatabaseNotFound:
        return set()


def _check(listed: NameList, source: Path | None, taken: set[str]) -> None:
    """Raise `UsageFault` with a line for each name that can't be registered."""
    first: dict[str, int] = {}
    wrong = []
    for row, line in zip(listed.rows, listed.lines, strict=True):
        name, where = row[NAME], "" if source is None else f"{source}, line {line}: "
        key = folded(name)
        if not is_bot_name(name):
            wrong.append(f"{where}{name!r} is no name for a bot: {NAME_FORM}")
        elif key in first:
            wrong.append(f"{where}{name} is there twice" + ("" if source is None else f", first in line {first[key]}"))
        elif key in taken:
            wrong.append(f"{where}a bot is called {name} already: choose another name, or `arena bot rotate {name}`")
        first.setdefault(key, line)
    if wrong:
        raise UsageFault("\n".join(wrong))


def _document(listed: NameList, tokens: Mapping[str, str]) -> str:
    """The rows as they came, with the tokens; what a spreadsheet would compute is kept from it, as `csv_cell` does."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=listed.delimiter, lineterminator="\n")
    rows = [[*listed.columns, GIVEN], *([*row.values(), tokens[row[NAME]]] for row in listed.rows)]
    writer.writerows(map(csv_cell, row) for row in rows)
    return text.getvalue()


def _register(store: Store, hashes: Mapping[str, str], file: Path, document: str) -> None:
    """Register the names once their tokens are on disk. Where that fails neither is there."""
    with writing(file), in_place_of(file) as part:
        part.unlink(missing_ok=True)
        part.touch(mode=FILE, exist_ok=False)
        part.write_text(document)
    try:
        store.write(registry.add_bots, hashes)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _tell(listed: NameList, tokens: Mapping[str, str], tokens_to: Path | None) -> None:
    """Print a token alone, or a table of them, for who reads it from here, and beside it what it is for."""
    brings = "as ARENA_TOKEN or --token"
    if tokens_to is not None:
        who = counted(len(tokens), "bot", "bots")
        say(f"{who} registered; their tokens are in {tokens_to}: each bot supplies its own {brings}")
        return
    if len(tokens) == 1:
        say(next(iter(tokens.values())))
        what = f"{listed.rows[0][NAME]} brings this token {brings}; it is"
    else:
        say(_document(listed, tokens), end="")
        what = f"each bot brings its token {brings}; they are"
    say(f"arena: {what} not shown again", err=True)
