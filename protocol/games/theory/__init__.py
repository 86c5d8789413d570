"""Exact knowledge about games, used by both sides: bots play it, the arena grades with it."""
