"""Where caches are: the user's cache folder."""

from __future__ import annotations

from pathlib import Path

from machine.cache import cache_folder


def test_the_cache_is_where_the_user_keeps_caches() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/bot-arena")
    assert cache_folder({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/bot-arena")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/bot-arena")
