"""`arena bot`: who may come in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing

from arena.commands.documents import print_document
from arena.commands.tables import columns, table
from arena.store.store import Store
from arena.store.tokens import hash_token, new_token
from protocol.errors import UsageFault
from protocol.names import NAME_FORM, is_bot_name


def add_bot(where: str, name: str) -> None:
    """Register a bot and print its token, this once."""
    if not is_bot_name(name):
        raise UsageFault(f"{name!r} is no name for a bot: {NAME_FORM}")
    token = new_token()
    with closing(Store.open(where, checkpoint=False)) as store:
        store.add_bot(name, hash_token(token))
    _give(name, token)


def rotate_bot(where: str, name: str) -> None:
    """Give a bot a new token and print it, this once."""
    token = new_token()
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        store.rotate(name, hash_token(token))
    _give(name, token)


def _give(name: str, token: str) -> None:
    """Print a token alone, for who reads it from here, and beside it what it is for."""
    print(token)
    print(f"arena: {name} brings this token as ARENA_TOKEN or --token; it is not shown again", file=sys.stderr)


def revoke_bot(where: str, name: str) -> None:
    """Let a bot in no more."""
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        store.revoke(name)
    print(f"{name} may not come in any more; `arena bot rotate {name}` gives it a new token")


def approve_bots(where: str, names: Sequence[str], *, approved: bool) -> None:
    """Have matches of these bots rated, or no more, where only those between approved bots are."""
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        store.approve(names, approved=approved)
    print(f"{', '.join(names)}: {'approved' if approved else 'not approved'}, from the next connection on")


def list_bots(where: str, *, to_json: bool) -> None:
    """Print who is known, and who may come in."""
    with closing(Store.open(where, create=False)) as store:
        bots = store.bots()
    rows = [
        (bot.name, "revoked" if bot.revoked else "yes" if bot.token_hash else "none", bot.created[:16], bot.approved)
        for bot in bots
    ]
    if to_json:
        print_document([dict(zip(("bot", "token", "created", "approved"), row, strict=True)) for row in rows])
    elif not rows:
        print("no bots yet")
    else:
        shown = [
            (name, token, created.replace("T", " "), "yes" if approved else "")
            for name, token, created, approved in rows
        ]
        print(table(("bot", "token", "since", "approved"), shown, elastic=0, left=(1, 2, 3), width=columns()))
