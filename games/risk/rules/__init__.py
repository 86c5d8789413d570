"""The rules of two games of Risk (duel.py, campaign.py), which share maps (board.py, `maps`), battles (battle.py) and
display (text.py).

draft.py is the draft rule, campaign_moves.py and campaign_checks.py are the campaign's moves and their legality.
"""
