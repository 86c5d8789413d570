"""Tournaments: plans that follow from a seed, contestants, hosts and workers. May import the arena, but not `bots`."""
