"""What clients may ask for where matches are assigned."""

from __future__ import annotations

from arena.host.actions import NotAllowed, everything
from arena.host.lobby import Lobby
from arena.host.session import Action, Session
from protocol.messages import ClientMessage, Seek


def assigned(lobby: Lobby) -> Action:
    """Everything but a seek: a client that seeks nevertheless is told, and may wait."""

    others = everything(lobby)

    def act(session: Session, message: ClientMessage) -> None:
        if isinstance(message, Seek):
            raise NotAllowed("seek: matches are assigned here: wait for start")
        others(session, message)

    return act
