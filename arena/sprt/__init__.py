"""Tests of two bots: their question, the evidence from matches, and its summary in words. Pure.

It builds on `measuring`; storage and commands are elsewhere.
"""
