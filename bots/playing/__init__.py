"""Matches in this process: bots that are called instead of connected, and the referee of every other match."""
