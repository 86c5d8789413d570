"""Exact tables of games, computed and kept on disk."""
