"""Connections: admission, limits, fair scheduling, TLS and the WebSocket. Nothing here knows bots or matches.

- binding.py opens ports, or takes inherited sockets. acceptor.py and listener.py accept connections, http_server.py
  those of HTTP.
- admission.py decides who may connect, by connection_limits.py, rate_limits.py and addresses.py. tls.py encrypts.
- connection.py is the WebSocket, with what the kernel knows of it. frames.py is a fast path for small frames,
  flusher.py writes what a turn of the loop sent.
- fair_scheduler.py limits how much time of the event loop a client may use.
"""
