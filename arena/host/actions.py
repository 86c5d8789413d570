"""The handlers of the messages that clients send, except those that seek matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arena.host.client_registry import ClientRegistry
from arena.host.handler import NotAllowed, NotRunning, Unavailable
from arena.host.session import ClientSession
from protocol import error_codes
from protocol.errors import MalformedMessage
from protocol.games import offered_game_names
from protocol.messages import ClientMessage, Hello, List, Move, Ready, Rejected, Resign, Unwatch, Warming, Watch
from referee.effects import MoveReceived, Resignation, SeatReady, SendDelay

EVERY_MATCH = "*"
"""The match id in a `watch` that subscribes to the starts and ends of all matches."""
LOOKUP_COST_S = 0.0005
"""Seconds charged to a client for one database lookup."""
RESIGN_COST_S = 0.0013
"""Seconds of work charged to the CPU budget of a client that resigns. They stand for all of the arena's work for a
match except its plies, from the seek to the storage of the result.
"""


class ClientActions:
    """Handles the messages of the clients of a host. Seeks go to `clients.handler`."""

    def __init__(self, clients: ClientRegistry) -> None:
        self._clients = clients

    def handle_message(self, session: ClientSession, message: ClientMessage) -> None:
        clients = self._clients
        if type(message) is Move:  # nearly all messages are moves
            place = clients.find_seat(session, message.match)
            if place is None:
                _refuse_move(session, message)
                return
            runner, seat = place
            unread_s = session.connection.measure_unread_s()
            runner.receive(MoveReceived(seat, message.ply, message.move, message.info, session.round_trip_s, unread_s))
        elif type(message) in _MESSAGE_HANDLERS:
            _MESSAGE_HANDLERS[type(message)](clients, session, message)
        else:
            clients.handler.handle_message(session, message)

    def on_late_write(self, session: ClientSession, sent_after: float, written_at: float) -> None:
        """Report to the matches of a bot that messages to it were written late."""
        for runner, seat in self._clients.seats_of(session):
            runner.receive(SendDelay(seat, sent_after, written_at))


def _refuse_second_hello(clients: ClientRegistry, session: ClientSession, message: Hello) -> None:
    raise MalformedMessage("hello: send it once, as the first message of a connection")


def _handle_ready(clients: ClientRegistry, session: ClientSession, message: Ready) -> None:
    """Mark a seat as ready. A `ready` for a match that has just ended is ignored."""
    place = clients.find_seat(session, message.match) if session.bot is not None else None
    if place is None:
        if session.was_sent_end(message.match):
            return
        if message.match in clients.runners:
            raise Unavailable(f"ready: you have no seat in {message.match!r}: spectators do not send ready")
        require_bot(session)
        raise Unavailable(f"ready: you are in no match {message.match!r}: it is over, or you never played in it")
    runner, seat = place
    clients.handler.on_seat_ready(session)
    runner.receive(SeatReady(seat, bytes.fromhex(message.nonce or "")))


def _refuse_move(session: ClientSession, message: Move) -> None:
    require_bot(session)
    text = f"you are in no match {message.match!r}: it is over, or you never played in it"
    session.send(Rejected(match=message.match, ply=message.ply, code=error_codes.NO_SUCH_MATCH, message=text))


def _handle_resign(clients: ClientRegistry, session: ClientSession, message: Resign) -> None:
    """Resign for a seat, or report that its program failed. A resignation from a match that is over is ignored."""
    require_bot(session)
    place = clients.find_seat(session, message.match)
    if place is not None:
        runner, seat = place
        session.connection.charge(RESIGN_COST_S)
        if message.failure is not None:
            runner.failures.setdefault(seat, message.failure)
        runner.receive(Resignation(seat, failed=message.failure is not None))


def _handle_watch(clients: ClientRegistry, session: ClientSession, message: Watch) -> None:
    """Subscribe to one match, or to the starts and ends of all matches."""
    if message.match == EVERY_MATCH:
        clients.subscribers[session] = None
        return
    runner = clients.runners.get(message.match)
    if runner is not None:
        clients.watch(session, runner)
    elif clients.handler.other_hosts():
        session.connection.charge(LOOKUP_COST_S)
        clients.handler.redirect_spectator(session, message.match)
    else:
        raise NotRunning(message.match)


def _handle_unwatch(clients: ClientRegistry, session: ClientSession, message: Unwatch) -> None:
    if message.match == EVERY_MATCH:
        clients.subscribers.pop(session, None)
    else:
        clients.unwatch(session, message.match)


def _warming(clients: ClientRegistry, session: ClientSession, message: Warming) -> None:
    """Store the games of this arena for which a bot warms up. Listings show these games beside the bot."""
    require_bot(session)
    games = [game for game in dict.fromkeys(message.games) if game in offered_game_names()]
    if games and not session.warming:
        session.warming_since = clients.now()
    session.warming = games


def _handle_list(clients: ClientRegistry, session: ClientSession, message: List) -> None:
    session.send_shared(clients.get_listing())


def require_bot(session: ClientSession) -> str:
    """Return the folded name of a session's bot. Raise `NotAllowed` if the session is a spectator's."""
    if session.bot is None:
        raise NotAllowed("a spectator can only watch: connect with a bot's name to play")
    return session.key


_MESSAGE_HANDLERS: dict[type[ClientMessage], Callable[[ClientRegistry, ClientSession, Any], None]] = {
    Hello: _refuse_second_hello,
    Ready: _handle_ready,
    Resign: _handle_resign,
    Watch: _handle_watch,
    Unwatch: _handle_unwatch,
    List: _handle_list,
    Warming: _warming,
}
"""The function that handles each type of message from a client, except moves and seeks."""
