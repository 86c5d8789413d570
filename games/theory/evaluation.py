"""The common part of the evaluations of heap games."""

GUESSED_VALUE = 0.5
"""The evaluation of a position of heaps that is guessed to be won for the seat."""
