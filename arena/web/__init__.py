"""The pages and the JSON API over the store, as an ASGI application. The browser gets live data from the arena's
WebSocket. Only commands import this package: a server runs it in another process.
"""
