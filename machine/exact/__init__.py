"""Exact play: tables computed and kept on disk, theory put to games, and who grades moves with them."""
