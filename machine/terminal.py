"""Lines for a terminal: whoever wrote what is in them, nothing of it moves a cursor, sets a colour or is unseen.

No other module of the arena's commands and the bots' prints; what rich draws comes by `machine/console.py`.
"""

from __future__ import annotations

import sys

from protocol.display import printable


def say(text: str = "", *, err: bool = False, end: str = "\n", flush: bool = False) -> None:
    """Print some lines to standard output, or to standard error, at once.

    They are written in one piece: who is killed meanwhile, or has others write beside it, leaves whole lines.
    What the stream's encoding does not have, as a file's may not on Windows, is written as an escape.
    """
    stream = sys.stderr if err else sys.stdout
    line = printable(text, lines=True) + end
    try:
        stream.write(line)
    except UnicodeEncodeError:
        stream.write(line.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
    if flush or err:
        stream.flush()
