"""Many games under one config at once: the rules and what a learner sees of them as loops over flat arrays."""
