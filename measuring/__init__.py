"""Statistics of matches: scores, luck, intervals and sequential tests.

It does no I/O, and may import `referee`, `machine` and `protocol`.

- Luck: luck.py measures it by a value function (value_function.py), which value_registry.py finds by name. The rooms
  of the games have the value functions.
- Scores: pair_scores.py and scores.py compute raw scores, adjusted_scores.py scores adjusted for luck;
  variance_reduction.py estimates how many games the adjustment saves. student_t.py has Student's t distribution,
  share_intervals.py the intervals of shares. elo.py, normalised_elo.py and score_format.py present results. payoffs.py
  averages payoffs. differences.py has means and sums of differences measured in pairs.
- Strength: thurstone.py estimates it from the scores of pairs, isotonic.py fits decreasing curves.
- Tests: sequential.py has tests that stop when the result is clear. constrained_multinomial.py computes their
  likelihoods; expected_length.py and resampling.py forecast their length. confidence_sequence.py has intervals that
  hold whenever you stop.
- position_kinds.py finds the categories of a game by which costs are broken down.
"""
