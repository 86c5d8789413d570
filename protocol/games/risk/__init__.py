"""Two games of Risk, in duel.py and campaign.py. They share maps (board.py), battles (battle.py) and display
(text.py).
"""
