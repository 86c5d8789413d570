"""The reference bots, which are ordinary clients, and code that the searching ones share.

search_bots.py has those that search, exact_bots.py those that know the value of every move, dilemma_bots.py those
of repeated games of two choices. level_bot.py plays as one of them, except for a share of random moves.
random_bot.py and human.py are the others.
"""
