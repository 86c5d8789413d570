"""Hosts matches: sessions of clients, match runners, clocks, journals and spectators. It does not depend on the ladder,
and of the store it only uses the types of records.
"""
