"""Searches of the Risk games on flat integer arrays, compiled with numba.

- Rules: flat_position.py has what both games have in common, a map and a position with the sums for evaluations.
  flat_duel.py and flat_campaign.py have the moves. The batches for learning (games/risk/environments) use them, too.
- Bounded Risk: duel_search.py has the search, duel_uct.py the tree search.
- Campaigns: campaign_kernel.py chooses between campaign_search.py, in which drafts follow the draft rule, and
  turn_search.py, whose evaluations campaign_evaluation.py has. campaign_nodes.py has the compiled functions of
  campaign_search.py. campaign_uct.py is the tree search, which assumes the policies of policies.py.
- work_buffers.py has the array of a search with its counts, uct_tree.py the tree, battle_odds.py the odds of battles,
  settings.py the settings.
"""
