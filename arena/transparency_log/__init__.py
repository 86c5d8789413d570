"""The log of results that an arena publishes: a Merkle tree of entries, heads that are signed, proofs. Pure."""
