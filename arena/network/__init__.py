"""Connections: admission, limits, fair scheduling, TLS and the WebSocket. Nothing here knows bots or matches."""
