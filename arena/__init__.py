"""The server's side: host, ladder, tournaments, store, web pages and the `arena` command. Independent of `bots`.

cli.py has the options of the commands. builtin_bots.py lists the bots that a server runs itself, with their tokens, and
keeps them running. feed.py publishes live events over MQTT: a process of its own, mqtt_publisher.py, sends them to the
broker by aiomqtt, and mqtt_connection.py connects the server to that process.
"""
