"""The token file: one token for a name at an arena, and nobody else's business."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bots.client.tokens import (
    BadTokenFile,
    default_path,
    find_or_make_token,
    find_token,
    forget_token,
    read_handed_token,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bot-arena" / "tokens.json"


def test_a_token_is_made_once_and_found_again(path: Path) -> None:
    token = find_or_make_token("ws://arena:8765", "mine", path)
    assert 16 <= len(token) <= 128
    assert find_or_make_token("ws://arena:8765/somewhere", "MINE", path) == token


def test_a_token_is_looked_up_without_making_one_and_forgotten_alone(path: Path) -> None:
    assert find_token("ws://a:1", "mine", path) is None
    assert not path.parent.exists()
    mine, other = (find_or_make_token("ws://a:1", bot, path) for bot in ("mine", "other"))
    assert find_token("ws://a:1", "MINE", path) == mine
    forget_token("ws://a:1", "Mine", path)
    assert find_token("ws://a:1", "mine", path) is None
    assert find_token("ws://a:1", "other", path) == other
    forget_token("ws://a:1", "other", path)
    assert json.loads(path.read_text()) == {}


def test_each_arena_and_each_name_has_a_token_of_its_own(path: Path) -> None:
    places = [
        ("ws://a:1", "mine"),
        ("ws://a:2", "mine"),
        ("ws://a:1", "other"),
        ("wss://a", "mine"),
        ("ws://a", "mine"),
    ]
    assert len({find_or_make_token(url, bot, path) for url, bot in places}) == 5


def test_only_the_owner_can_read_the_file(path: Path) -> None:
    find_or_make_token("ws://a:1", "mine", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    find_or_make_token("ws://a:1", "mine", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_bots_that_start_together_lose_no_token(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda n: find_or_make_token("ws://a:1", f"bot{n % 8}", path), range(32)))
    saved = json.loads(path.read_text())["a:1"]
    assert [saved[f"bot{n % 8}"] for n in range(32)] == made


@pytest.mark.parametrize("text", ["{", "[]", '{"a:1": 5}', '{"a:1": {"mine": 5}}', "\udcff"])
def test_a_file_that_holds_no_tokens_is_left_alone(path: Path, text: str) -> None:
    path.parent.mkdir()
    content = text.encode("utf-8", "surrogateescape")
    path.write_bytes(content)
    with pytest.raises(BadTokenFile, match="not a file of tokens"):
        find_or_make_token("ws://a:1", "mine", path)
    assert path.read_bytes() == content


def test_the_file_is_in_the_users_configuration_folder() -> None:
    assert default_path({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/bot-arena/tokens.json")
    assert default_path({"XDG_CONFIG_HOME": "", "HOME": "/h"}) == Path("/h/.config/bot-arena/tokens.json")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadTokenFile, match="give the token with --token"):
        find_or_make_token("ws://a:1", "mine", tmp_path / "file" / "tokens.json")


def test_a_token_that_is_handed_over_is_read_to_the_end_of_its_line() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"abcdefghijklmnop\nwhat follows")
    assert read_handed_token(ours) == "abcdefghijklmnop"
    assert os.read(ours, 100) == b"what follows"
    os.close(theirs)
    assert read_handed_token(ours) == ""
    os.close(ours)


def test_a_descriptor_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(BadTokenFile, match="there is no token on file descriptor 987: Bad file descriptor"):
        read_handed_token(987)
