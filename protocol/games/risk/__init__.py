"""Risk on a map: what both games share is in board.py and battle.py; duel.py and campaign.py are the games."""
