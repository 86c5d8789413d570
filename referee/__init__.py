"""The referee of one match, without I/O: the time is an argument, effects are returned. It imports only protocol.

- match.py decides. effects.py has its inputs and outputs, state.py all that an event may change, course.py how it
  changes that. clock.py counts time, messages.py builds what seats and spectators are told.
- record.py writes the lines of a record; record_reader.py and replay.py are the way back.
- footer.py and result.py are what remains at the end. called_off.py closes a match of which only the beginning is
  known.
- in_process.py has the contracts of packages that play bots, or estimate moves, inside the arena's process.
"""
