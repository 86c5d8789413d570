"""The operator's channel to a running server: JSON requests and replies over the arena's own WebSocket."""
