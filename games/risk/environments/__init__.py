"""Risk for reinforcement learning. encoding.py turns positions and moves of both games into numbers; duel_batch.py and
campaign_batch.py play many games at once. reference_dice.py gives the reference rules the same battle results as a
batch, so that both can be compared.
"""
