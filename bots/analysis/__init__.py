"""Facts about positions and searches, computed for `arena-bot analyze` and `arena-bot compare`.

duel.py, heaps.py and dilemma.py analyse games, searches.py compares searches, exploiting.py measures what a best reply
wins against a bot. estimator.py estimates the values of moves by a search.
"""
