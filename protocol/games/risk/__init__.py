"""Two games of Risk (duel.py, campaign.py), which share maps (board.py), battles (battle.py) and display (text.py)."""
