"""Tests of two bots: question, evidence from matches, and summary in words. Pure, on top of `measuring`."""
