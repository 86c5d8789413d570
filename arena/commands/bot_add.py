"""`arena bot add`: registers bots, all or none, and prints their tokens once or writes them to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from arena.commands.name_list import read_name_list
from arena.commands.output import check_is_file, translate_write_errors
from arena.commands.server_or_local import ask_server_or_run
from arena.operator.new_bots import FORBIDDEN_COLUMNS, NewBots, make_name_list, with_bot_names
from arena.store import registry
from arena.store.data_folder import FILE_MODE
from arena.store.database import DatabaseNotFound
from arena.store.registry import RegisteredBot, all_bots
from arena.store.store import Store
from machine.atomic_write import replacing_file
from machine.terminal import say
from protocol.display import format_count
from protocol.errors import UsageFault


def add_bots(
    where: str,
    data: Path,
    names: Sequence[str],
    source: Path | None,
    tokens_to: Path | None,
    *,
    display: str | None = None,
    ascii_names: bool = False,
) -> None:
    """Register bots. Print their tokens, or write them to the new file `tokens_to`: they are not shown again.

    `display` is the display name if only one bot is registered. With `ascii_names`, a name that a bot can't have
    becomes a display name, and the bot gets a similar name that is allowed.
    """
    if display is not None and source is not None:
        raise UsageFault("--display goes with a name: with --from, write a column named display")
    if (source is None) == (not names):
        raise UsageFault("name the bots, or a file of names with --from")
    if source is not None and tokens_to is None:
        raise UsageFault("--from needs --tokens-to FILE, the file for the tokens, which are shown only once")
    if tokens_to is not None:
        check_is_file("--tokens-to", tokens_to)
    if tokens_to is not None and os.path.lexists(tokens_to):
        raise UsageFault(f"{tokens_to} already exists and is not overwritten: choose another name")
    listed = make_name_list(names, display) if source is None else read_name_list(source, FORBIDDEN_COLUMNS)
    known = _read_registered_bots(where)
    if ascii_names:
        listed = with_bot_names(listed, known)
    new = NewBots.make(listed, "" if source is None else str(source), known)
    if tokens_to is not None:
        _write_tokens(tokens_to, new.to_csv())
    try:
        _register(where, data, new)
    except BaseException:
        if tokens_to is not None:
            tokens_to.unlink(missing_ok=True)
        raise
    _print_tokens(new, tokens_to)


def _read_registered_bots(where: str) -> list[RegisteredBot]:
    try:
        with closing(Store.open(where, create=False, checkpoint=False)) as store:
            return store.read(all_bots)
    except DatabaseNotFound:
        return []


def _write_tokens(file: Path, document: str) -> None:
    """Write the tokens, before any bot is registered, to a file that only its owner can read. So no token is lost."""
    with translate_write_errors(file), replacing_file(file) as part:
        part.unlink(missing_ok=True)
        part.touch(mode=FILE_MODE, exist_ok=False)
        part.write_text(document, encoding="utf-8", newline="")


def _register(where: str, data: Path, new: NewBots) -> None:
    request = new.request
    ask_server_or_run(
        where,
        data,
        request,
        type(None),
        lambda store: store.write(registry.add_bots, request.hashes, request.displays),
        create=True,
    )


def _print_tokens(new: NewBots, tokens_to: Path | None) -> None:
    """Print a single token alone, or several as CSV, for scripts. Explain on standard error what the tokens are for."""
    for note in new.notes:
        say(f"arena: {note}", err=True)
    tokens, brings = new.tokens, "as ARENA_TOKEN or --token"
    if tokens_to is not None:
        who = format_count(len(tokens), "bot", "bots")
        say(f"{who} registered; their tokens are in {tokens_to}: each bot supplies its own {brings}")
        return
    if len(tokens) == 1:
        say(next(iter(tokens.values())))
        what = f"{next(iter(tokens))} uses this token {brings}; it is"
    else:
        say(new.to_csv(), end="")
        what = f"each bot uses its token {brings}; they are"
    say(f"arena: {what} not shown again", err=True)
