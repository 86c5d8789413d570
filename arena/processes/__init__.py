"""Programs that the arena runs: bots, each with a keeper between, which ends with it."""
