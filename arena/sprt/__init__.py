"""Tests of two bots: their question, the evidence from matches, and its summary in words, without I/O."""
