"""Exact theory of impartial games: bots play by it, and the arena grades with it."""
