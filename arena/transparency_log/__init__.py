"""The public log of results, as pure functions: a Merkle tree, signed heads and proofs. It imports only protocol."""
