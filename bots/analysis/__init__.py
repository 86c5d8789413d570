"""Facts about positions and searches, computed for `arena-bot analyze` and `arena-bot compare`.

duel.py, heaps.py and dilemma.py analyse games, searches.py compares searches, exploiting.py finds what a best reply
wins. estimator.py estimates moves by a search.
"""
