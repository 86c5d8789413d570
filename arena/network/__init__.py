"""Connections: who may have one, what it may cost, and the WebSocket itself. Nothing here knows of bots or matches."""
