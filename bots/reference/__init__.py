"""The reference bots, which are ordinary clients of an arena, and code that searching bots share.

search_bots.py has the bots that search, perfect.py the bot that knows the best moves of solved games. level_bot.py
plays as another bot, except for a fraction of random moves. random_bot.py plays at random, human.py lets a person play.
Bots for one game are in the game's package.
"""
