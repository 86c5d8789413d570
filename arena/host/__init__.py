"""Hosts matches: sessions, match runners, clocks, journals and spectators. Uses no ladder, tournament or database."""
