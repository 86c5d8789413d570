"""Words of a command line that name bots: what they are called, what they are, and how they are made."""

from __future__ import annotations

import pytest

from protocol.bot_launch import BotSpec, bot_name_of, parse_bot_settings, parse_bot_spec
from protocol.errors import UsageFault


@pytest.mark.parametrize(
    ("word", "name", "bot", "settings"),
    [
        ("greedy", "greedy", "greedy", {}),
        ("calm=greedy", "calm", "greedy", {}),
        ("deep=ga:depth=3", "deep", "ga", {"depth": "3"}),
        ("ga:depth=3", "ga", "ga", {"depth": "3"}),
        ("x=ga:weights=1,2.5,-3,depth=3", "x", "ga", {"weights": "1,2.5,-3", "depth": "3"}),
        ("mine.py", "mine", "mine.py", {}),
        ("v2=bots/v2/mine.py", "v2", "bots/v2/mine.py", {}),
        ("bots/v2/mine.py", "mine", "bots/v2/mine.py", {}),
        ("mine.py:Mine", "mine", "mine.py:Mine", {}),
        ("mine.py:depth=3", "mine", "mine.py", {"depth": "3"}),
        ("a=mine.py:Mine:depth=3", "a", "mine.py:Mine", {"depth": "3"}),
        (r"a=C:\bots\mine.py:Mine", "a", r"C:\bots\mine.py:Mine", {}),
        (r"a=C:\bots\mine.py", "a", r"C:\bots\mine.py", {}),
    ],
)
def test_a_word_names_a_bot_and_says_how_it_is_made(word: str, name: str, bot: str, settings: dict[str, str]) -> None:
    spec = BotSpec(name=name, bot=bot, settings=settings, defaults={"depth": "2"}, seed="7")
    assert parse_bot_spec(word, "7", {"depth": "2"}) == spec


@pytest.mark.parametrize("text", ["depth", "depth=", "=3", "depth=3,eval", "1,2"])
def test_a_setting_without_key_or_value_is_refused_with_one_that_has_both(text: str) -> None:
    with pytest.raises(UsageFault, match=r"x: '.+' is not a setting: write KEY=VALUE, as in x=ga:KEY=VALUE"):
        parse_bot_settings(text, "x", "ga")


def test_the_name_in_a_word_is_that_which_it_gives_or_the_bots_own() -> None:
    assert [bot_name_of(word) for word in ("a=ga:depth=3", "ga", "ga:depth=3")] == ["a", "ga", "ga"]


@pytest.mark.parametrize("word", ["mine.py", "./in/here/mine.py:Best", "mine.py 3 --fast", "'in there/mine.py'"])
def test_the_name_in_the_word_of_a_file_is_the_files(word: str) -> None:
    assert bot_name_of(word) == "mine"
    assert bot_name_of(f"a={word}") == "a"
