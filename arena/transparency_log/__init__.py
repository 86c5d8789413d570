"""The public log of results: a Merkle tree of entries, signed heads, and proofs, as pure functions. It imports only
protocol.
"""
