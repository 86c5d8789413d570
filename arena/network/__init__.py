"""Connections: admission, limits, fair scheduling, TLS, and the WebSocket itself. Nothing here knows bots or
matches.
"""
