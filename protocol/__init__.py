"""Messages, codecs, dice, digests and the contract of games, which both sides of the arena share. There is no I/O,
except that `games` loads code and documents of games by their names. Every package may import it; it imports none.

- messages.py defines every message, codec.py both encodings and their limits, schema.py the JSON Schema,
  docs/messages.schema.json. field_errors.py says in words what a field may be; a new kind of type needs a case there.
- dice.py has the committed dice, digest.py the digest chain.
- errors.py sorts failures by who is at fault. close_codes.py, error_codes.py and reasons.py list the codes.
- names.py, display_names.py and pools.py define names of bots, of people and of rating pools.
- bot_launch.py says how bots are launched, config_values.py reads configs that people typed.
- display.py makes text safe for a terminal. secret_text.py cleans pasted secrets.
"""

VERSION = "0.1.0"
"""The version of Bot Arena."""
DEFAULT_PORT = 8765
"""The default port of an arena."""
