"""The doctor: it examines how a bot reacts to network faults, one after the other, on an arena that it starts.

cases.py has the faults and the expected reactions. harness.py runs the bot with opponents on that arena. The bot
connects through the proxies tcp_proxy.py and websocket_proxy.py, which make the faults.
"""
