"""Facts about searches and moves: searches.py compares searches for `arena-bot compare`, estimator.py estimates the
values of moves by a search. The rooms of the games have the analyses of `arena-bot analyze`.
"""
