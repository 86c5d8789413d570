"""The operator's channel to a running server: requests and answers as JSON, over the arena's own WebSocket."""
