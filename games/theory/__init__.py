"""Exact theory of impartial games. Bots choose moves by this theory, and the arena grades moves with it."""
