"""Sequential tests of two bots: their hypotheses, the evidence from matches, and the findings in words. No I/O.

- hypotheses.py reads the hypotheses of a test from the options of a command. evidence.py computes the findings.
- summary.py states the findings in words.
- pilot.py forecasts the length of a test from earlier matches. counts.py tests counts of scores without the matches.
"""
