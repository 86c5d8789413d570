"""Display names in the store, on both kinds of database."""

from __future__ import annotations

import pytest

from arena.store.leaderboards import bots_page, find_profile
from arena.store.registry import (
    add_bots,
    anonymize_bot,
    display_names,
    find_registered_bot,
    register_bot,
    rename_bot,
    roster_page,
    set_display,
)
from arena.store.store import Store
from arena.store.tokens import hash_token
from databases import EVERY_DATABASE
from protocol.errors import UsageFault

HASHES = {name: hash_token(f"{name:*>16}") for name in ("Chloe", "ben", "cid")}

pytestmark = EVERY_DATABASE


@pytest.fixture
def store(store: Store) -> Store:
    store.write(add_bots, HASHES, {"Chloe": "Chloé", "cid": "王伟"})
    return store


def test_a_display_name_is_found_wherever_a_bot_is_and_goes_with_it_when_it_is_renamed(store: Store) -> None:
    store.write(rename_bot, "chloe", "Chloe-D")
    bot, profile = store.read(find_registered_bot, "chloe-d"), store.read(find_profile, "chloe-d")
    assert bot is not None
    assert profile is not None
    assert (bot.display, profile.display) == ("Chloé", "Chloé")
    assert [row.display for row in store.read(roster_page).rows] == [None, "Chloé", "王伟"]
    assert [row.display for row in store.read(bots_page).rows] == [None, "Chloé", "王伟"]
    assert store.read(display_names, 10) == {"chloe-d": "Chloé", "cid": "王伟"}
    assert store.read(display_names, 1) == {"cid": "王伟"}


def test_a_display_name_is_changed_taken_away_and_gone_with_its_bot(store: Store) -> None:
    store.write(set_display, "CHLOE", "Chloë")
    store.write(set_display, "cid", None)
    assert store.read(display_names, 10) == {"chloe": "Chloë"}
    with pytest.raises(UsageFault, match="there is no bot called nobody"):
        store.write(set_display, "nobody", "Nobody")
    store.write(anonymize_bot, "Chloe")
    assert store.read(display_names, 10) == {}


def test_who_gets_a_name_that_is_free_again_gets_no_display_name_of_before(store: Store) -> None:
    store.write(register_bot, "dan", hash_token("d" * 16), display="Dan Å.")
    store.write(register_bot, "dan", hash_token("e" * 16), "9999-01-01T00:00:00.000Z")
    assert "dan" not in store.read(display_names, 10)
