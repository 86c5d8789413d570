"""The operator's channel to a running server: JSON requests and replies over the arena's own WebSocket.

The server answers them; commands and web pages send them.
"""
