"""The public log of results, as pure functions: a Merkle tree, signed heads and proofs. It imports only protocol.

merkle_tree.py is the tree. signed_log.py has the entries, the signed heads and the proofs.
"""
