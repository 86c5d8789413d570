"""Batches of games under one config: rules and encodings as loops over flat arrays."""
