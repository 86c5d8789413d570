"""The server's side: host, ladder, tournaments, store, web pages and the `arena` command. Independent of `bots`.

cli.py has the options of the commands. builtin_bots.py lists the bots that a server runs itself, with their tokens,
and keeps them running. feed.py publishes live events over MQTT: mqtt_publisher.py is the process that publishes
them by aiomqtt, mqtt_connection.py the server's end of it.
"""
