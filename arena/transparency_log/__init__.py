"""The public log of match results, as pure functions: a Merkle tree, signed heads and proofs. It imports only protocol.

merkle_tree.py has the tree. signed_log.py has the entries of the log, its signed heads and its proofs.
"""
