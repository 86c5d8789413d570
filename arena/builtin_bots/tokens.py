"""The tokens of the house's bots: made here, kept in the data folder for the server alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from arena.store.registry import NameInUse, add_bots, registered_bot
from arena.store.store import Store
from arena.store.tokens import hash_token, new_token
from machine.atomic_write import in_place_of
from protocol.errors import ArenaFault, UsageFault
from protocol.names import folded


def tokens(store: Store, file: Path, names: Sequence[str]) -> dict[str, str]:
    """The token of each bot, which is registered first if it is new; those that are made are in `file` before.

    Raises `UsageFault` for a name that is somebody else's, `ArenaFault` for a file that can't be used.
    """
    saved = _read(file)
    made = {name: saved.get(folded(name)) or new_token() for name in names}
    known = {name: store.read(registered_bot, name) for name in names}
    for name, bot in known.items():
        if bot is not None and bot.revoked:
            raise UsageFault(f"the house's bot {name} was revoked: leave it out, or give it another name")
        if bot is not None and bot.token_hash != hash_token(made[name]):
            raise UsageFault(_taken(name))
    _write(file, saved | {folded(name): token for name, token in made.items()})
    for name, bot in known.items():
        if bot is None:
            try:
                store.write(add_bots, {name: hash_token(made[name])})
            except NameInUse as exc:
                raise UsageFault(_taken(name)) from exc
    return made


def _taken(name: str) -> str:
    return (
        f"the name {name} is somebody else's here: give the house's bot another one, like --house house-{name}=BOT; "
        "where the data was moved or restored, it is the house's own, whose house/tokens.json has to come along"
    )


def _read(file: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise ArenaFault(f"{file} can't be read: {exc.strerror}") from exc
    except msgspec.MsgspecError as exc:
        raise ArenaFault(f"{file} holds no tokens any more: move it away, and give the house's bots new names") from exc


def _write(file: Path, held: dict[str, str]) -> None:
    try:
        file.parent.mkdir(exist_ok=True)
        with in_place_of(file) as part:
            part.touch(mode=0o600)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(held)) + b"\n")
    except OSError as exc:
        raise ArenaFault(f"{file} can't be written: {exc.strerror}") from exc
