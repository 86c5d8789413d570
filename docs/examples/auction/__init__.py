"""Sealed bids: the example of a room, a folder with all that exists for a game. Copy it to `games/auction`."""

from __future__ import annotations

from protocol.games.spec import GameSpec

SPECS = (GameSpec(name="auction", room="games.auction", rules="games.auction.rules:Auction"),)
"""The spec of sealed bids."""
