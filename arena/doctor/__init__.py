"""The doctor: it tests how a bot reacts to network faults, one by one, on an arena of its own.

cases.py has the faults and the expected reactions. harness.py runs them: a bot between opponents and an arena of
its own, with tcp_proxy.py and websocket_proxy.py on the way.
"""
