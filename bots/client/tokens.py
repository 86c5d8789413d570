"""The tokens that prove a bot's name to an arena, in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from machine import file_lock
from machine.atomic_write import replacing_file
from machine.text_encoding import decode
from protocol.errors import Fault
from protocol.messages import MAX_TOKEN_CHARS
from protocol.names import fold_name

_open_private = partial(os.open, mode=0o600)
"""A function that opens a file. If it makes the file, only the owner can read it from the start."""


class BadTokenFile(Fault):
    """The token file cannot be read or written, or does not have the form that this module writes."""


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return `tokens.json` in the user's configuration folder (`XDG_CONFIG_HOME`, else `~/.config`)."""
    base = environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path(environ.get("HOME") or Path.home()) / ".config"
    return root / "bot-arena" / "tokens.json"


def find_or_make_token(url: str, bot: str, path: Path) -> str:
    """Return the token of `bot` at the arena of `url`; make and save one if there is none. Raise `BadTokenFile` if the
    file cannot be used.

    A token is saved before it is sent: if the connection is lost, the bot can still prove its name.
    """
    try:
        with _lock_file(path):
            saved = _read_tokens(path)
            names = saved.setdefault(_host_and_port(url), {})
            token = names.get(fold_name(bot))
            if token is None:
                token = names[fold_name(bot)] = secrets.token_urlsafe(32)
                _write_tokens(path, saved)
            return token
    except OSError as exc:
        raise BadTokenFile(f"{path}: {exc.strerror or exc}; give the token with --token, or make it yours") from exc


def find_token(url: str, bot: str, path: Path) -> str | None:
    """Return the saved token of `bot` at the arena of `url`, if there is one. Raise `BadTokenFile` as
    `find_or_make_token` does.
    """
    try:
        return _read_tokens(path).get(_host_and_port(url), {}).get(fold_name(bot))
    except OSError as exc:
        raise BadTokenFile(f"{path}: {exc.strerror or exc}; give the token with --token, or make it yours") from exc


def read_handed_token(descriptor: int) -> str:
    """Return the token in the next line of a file descriptor, reading no further. Raise `BadTokenFile` without one."""
    read = bytearray()
    try:
        while (byte := os.read(descriptor, 1)) not in (b"", b"\n") and len(read) <= MAX_TOKEN_CHARS:
            read += byte
    except OSError as exc:
        raise BadTokenFile(f"there is no token on file descriptor {descriptor}: {exc.strerror}") from exc
    return read.decode(errors="replace").strip()


def _host_and_port(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'wss' else 80)}"


@contextlib.contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Lock the token file against other processes of this user: several bots may start at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chmod(path.parent, 0o700)
    with open(path.with_suffix(".lock"), "a", opener=_open_private) as lock:
        file_lock.lock(lock.fileno())
        yield


def _read_tokens(path: Path) -> dict[str, dict[str, str]]:
    try:
        os.chmod(path, 0o600)
        return msgspec.json.decode(decode(path.read_bytes()), type=dict[str, dict[str, str]])
    except FileNotFoundError:
        return {}
    except (msgspec.DecodeError, UnicodeError) as exc:
        raise BadTokenFile(f"{path}: not a file of tokens; move it away, or give the token with --token") from exc


def _write_tokens(path: Path, saved: Mapping[str, Mapping[str, str]]) -> None:
    """Replace the token file atomically, so that readers never see half of it."""
    with replacing_file(path) as temporary, open(temporary, "w", encoding="utf-8", opener=_open_private) as file:
        json.dump(saved, file, indent=2, sort_keys=True)
        file.write("\n")
