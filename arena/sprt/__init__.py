"""Tests of two bots: their question, the evidence from matches, and its summary in words, without I/O.

hypotheses.py is what is asked, evidence.py what the matches say, summary.py the findings in words. pilot.py
forecasts a test from earlier matches, counts.py judges bare counts.
"""
