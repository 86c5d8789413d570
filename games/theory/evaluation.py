"""The common part of the evaluations of heap games."""

GUESSED_VALUE = 0.5
"""The evaluation of a position of heaps that the seat is guessed, but not known, to win."""
