"""Hosts matches: sessions of clients, match runners, clocks, journals and spectators. It uses no ladder, no tournament
and no database.
"""
