"""Hosts matches: connections, sessions, runners, clocks, journals and spectators. It knows no ladder and no store."""
