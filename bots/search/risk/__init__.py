"""Searches of the Risk games on flat integer arrays, compiled with numba. flat_position.py holds what an evaluation
reads, work_buffers.py what a search counts. duel_search.py and duel_uct.py search bounded Risk, campaign_kernel.py
and campaign_uct.py the campaign.
"""
