"""Tournaments: a plan that follows from its seed, contestants, hosts that play matches, and workers that spread them.

It may import the rest of the arena, but nothing of `bots`.
"""
