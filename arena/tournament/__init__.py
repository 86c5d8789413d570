"""Tournaments: a plan that follows from its seed, entrants, and workers that have its matches played."""
