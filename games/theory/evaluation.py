"""The common part of the evaluations of heap games."""

GUESSED_VALUE = 0.5
"""The evaluation of a heap position that is guessed to be won."""
