"""The Risk games on flat integer arrays: flat_position.py keeps what an evaluation needs, work_buffers.py what a search
counts; duel_search.py and duel_uct.py search bounded Risk, campaign_kernel.py and campaign_uct.py the campaign.
"""
