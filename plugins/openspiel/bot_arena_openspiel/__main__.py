"""`python -m bot_arena_openspiel`: lists the games that can be played."""

from __future__ import annotations

from bot_arena_openspiel.family import FAMILY_NAME, game_class, game_names
from machine.terminal import say

for name in game_names():
    kind = game_class(name)
    say(f"{FAMILY_NAME}:{name:<24} {kind.title}")
