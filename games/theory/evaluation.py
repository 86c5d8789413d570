"""A value that the evaluations of heap games share."""

GUESSED_VALUE = 0.5
"""The evaluation of a heap position that is guessed to be won."""
