"""Connections: admission, limits, fair scheduling, TLS and WebSockets. Nothing here knows bots or matches.

- binding.py opens ports, or takes inherited sockets. acceptor.py accepts connections. listener.py serves WebSockets,
  http_server.py serves web pages.
- admission.py decides who may connect. For that, it uses connection_limits.py and addresses.py. tls.py encrypts.
- connection.py has a WebSocket connection. frames.py has its protocol without I/O, which is that of the websockets
  library with a fast path for small frames. flusher.py writes all frames of a turn of the event loop together.
  tcp_info.py asks the kernel how long input has waited.
- fair_scheduler.py limits how much time of the event loop a client may use.
"""
