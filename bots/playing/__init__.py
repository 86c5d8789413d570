"""Matches in this process: their bots are called instead of connected; the referee is the arena's."""
