"""Tuning of evaluation weights: the genetic algorithm, its games, presets, the tuning's file and its session."""
