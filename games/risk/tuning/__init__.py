"""Tuning of Risk's weights: presets.py has the presets of `arena-bot tune`, `weights` the named sets of weights."""
