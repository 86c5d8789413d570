"""Risk for reinforcement learning: encoding.py has the encodings of both games, duel_batch.py and campaign_batch.py
play batches of them. reference_dice.py decides battles of the reference rules as a batch does.
"""
