"""Evolving weights: the genetic algorithm, its games and where they are played, a tuning on disk and under way."""
