"""Secrets as people copy them, wherever one is read: what nobody sees around them is no part of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arena.commands.settings import database_url
from arena.operator import credentials
from bots.client.settings import PartialSettings, merge_settings, read_environment
from bots.client.tokens import read_handed_token
from bots.commands.mcp import _find_token
from machine.arguments import read_text_or_file
from protocol.errors import UsageFault
from protocol.secret_text import find_invisible, strip_invisible

TOKEN = "abcdefghijklmnopqrstuvwxyz012345"
AROUND = ["{}\r", "{}\r\n", " {} ", "\ufeff{}", "{}\u200b", "\u00a0{}\u00a0", "\u2060{}\u00ad", "{}\u3164"]
AROUND += ["{}\ufe0f", "{}\0"]


@pytest.mark.parametrize("around", AROUND)
def test_a_token_of_the_environment_or_an_option_is_what_is_seen_of_it(around: str) -> None:
    given = around.format(TOKEN)
    assert merge_settings(read_environment({"ARENA_TOKEN": given})).token == TOKEN
    assert merge_settings(PartialSettings(token=given)).token == TOKEN


@pytest.mark.parametrize("around", AROUND)
def test_a_token_that_is_handed_over_is_what_is_seen_of_it(around: str) -> None:
    reads, writes = os.pipe()
    os.write(writes, (around.format(TOKEN) + "\n").encode())
    os.close(writes)
    assert merge_settings(PartialSettings(token=read_handed_token(reads))).token == TOKEN
    os.close(reads)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("around", AROUND)
def test_a_secret_in_a_file_is_what_is_seen_of_it(tmp_path: Path, around: str, encoding: str) -> None:
    file = tmp_path / "token"
    file.write_bytes((around.format(TOKEN) + "\r\n").encode(encoding))
    assert _find_token(merge_settings(PartialSettings()), "ann", file) == TOKEN
    assert credentials.read_or_make_token(tmp_path, file) == TOKEN
    assert read_text_or_file(f"@{file}", "db") == TOKEN


def test_the_address_of_a_database_is_what_is_seen_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://me:secret@host/arena"
    monkeypatch.setenv("ARENA_DB", f"{url}\r")
    assert database_url(None, tmp_path) == url
    (tmp_path / "url").write_bytes(f"{url}\r\n".encode("utf-16"))
    assert database_url(f"@{tmp_path}/url\r", tmp_path) == url


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (" " * 20, "the token has 0 characters"),
        ("\u200b" * 20, "the token has 0 characters"),
        (f" {'x' * 15}\n", "the token has 15 characters"),
        (f"{'x' * 16}\u200b{'x' * 16}", "the token has U+200B as its 17. character, which is invisible"),
        (f"{'x' * 16}\n{'x' * 16}", "the token has U+000A as its 17. character"),
    ],
)
def test_what_is_no_token_is_told_without_it(token: str, said: str) -> None:
    with pytest.raises(UsageFault) as refused:
        merge_settings(PartialSettings(token=token))
    assert str(refused.value).startswith(said)
    assert "xxx" not in str(refused.value)


def test_letters_signs_and_blanks_within_are_seen() -> None:
    phrase = "grüße aus Łódź 🎲 = 42"
    assert (strip_invisible(phrase), find_invisible(phrase)) == (phrase, None)
