"""Sealed bids: an example of a room, the folder with everything for one game. Copy it to `games/auction`."""

from __future__ import annotations

from protocol.games.spec import GameSpec

SPECS = (GameSpec(name="auction", room="games.auction", rules="games.auction.rules:Auction"),)
"""The specs of the games in this room."""
