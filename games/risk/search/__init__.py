"""Searches of the Risk games on flat integer arrays, compiled with numba.

- Bounded Risk: duel_search.py has the search, duel_uct.py the tree search.
- Campaigns: campaign_kernel.py chooses between campaign_search.py, in which drafts follow the draft rule
  (draft_rule.py), and turn_search.py. campaign_uct.py is the tree search, which assumes the policies of policies.py.
- Positions: flat_position.py has the array of a position with the sums for evaluations, campaign_board.py that of a
  campaign's map. field.py has the array for playouts, which field_evaluation.py evaluates.
- work_buffers.py has the array of a search with its counts, uct_tree.py the tree, battle_odds.py the odds of battles,
  settings.py the settings.
"""
