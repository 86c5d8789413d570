"""The referee of one match, without I/O: the time is an argument, effects are returned. It imports only protocol.

- match.py makes every decision. effects.py has its inputs and outputs. state.py holds everything that an event may
  change, and course.py plays the events by the rules. clock.py counts time, messages.py builds the messages to seats
  and spectators.
- record.py writes the lines of a record, which have clocks but no times. record_reader.py reads a record, and replay.py
  replays its match. recorded_game.py stands in for rules that are missing, by the states in a record.
- footer.py and result.py have the result of a match. called_off.py closes a match of which only the header and the seed
  are left.
- in_process.py has the contracts of packages that play bots or estimate moves inside the arena's process.
"""
