"""Searches of the Risk games on flat integer arrays, compiled with numba. flat_position.py has the array of a position
with the sums for evaluations, work_buffers.py the array of a search with its counts. duel_search.py and duel_uct.py
search bounded Risk, campaign_kernel.py and campaign_uct.py the campaign.
"""
