"""The reference bots, which are ordinary clients of an arena, and code that searching bots share.

search_bots.py has the bots that search, exact_bots.py the bots that know the value of every move, dilemma_bots.py the
bots for repeated games of two choices. level_bot.py plays as another bot, except for a fraction of random moves.
random_bot.py plays at random, human.py lets a person play.
"""
