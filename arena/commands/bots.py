"""`arena bot`: manages which bots may connect."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from arena.commands.output import format_minute, format_table, print_document, terminal_columns
from arena.commands.server_or_local import ask_server_or_run, run_on_server
from arena.hosting.limits import CACHE_DAYS
from arena.operations.names import Delete, DeletionResult, Rename
from arena.operator.changes import Approve, DisconnectedBots, Revoke, Rotate, SetDisplay, SetPeople
from arena.operator.client import NoServer
from arena.operator.status import MAX_ENTRIES, BotStatus, ServerStatus, StatusRequest
from arena.store import registry
from arena.store.archiving import purge_removed_records
from arena.store.bot_versions import count_versions
from arena.store.database import Database
from arena.store.entrants import describe_unrepeatable, tournaments_of_bot
from arena.store.registry import RegisteredBot
from arena.store.store import Store, open_to_read
from arena.store.thinning import RecordsOfBot, remove_all
from arena.store.tokens import generate_token, hash_token
from machine.terminal import say
from protocol.display import format_count
from protocol.display_names import normalize_display
from protocol.errors import ArenaFault, UsageFault
from protocol.names import fold_name

_CONNECTION_FIELDS = ("version", "client", "since", "address", "playing")
"""The fields of `BotStatus` that `arena bot list --json` has for a bot that is online."""


def rotate_bot(where: str, data: Path, name: str) -> None:
    """Give a bot a new token, print it once, and close a connection that uses the old token."""
    token = generate_token()
    request = Rotate(name=name, token_hash=hash_token(token))
    found = ask_server_or_run(
        where,
        data,
        request,
        DisconnectedBots,
        lambda store: store.write(registry.rotate_token, name, request.token_hash),
    )
    say(token)  # alone on standard output, for scripts
    say(f"arena: {name} uses this token as ARENA_TOKEN or --token; it is not shown again", err=True)
    if found is not None and found.bots:
        say(f"arena: {name} was online with its old token: that connection was ended", err=True)


def revoke_bots(where: str, data: Path, names: Sequence[str]) -> None:
    """Reject bots from now on, and close their connections."""
    request = Revoke(names=list(names))
    found = ask_server_or_run(
        where, data, request, DisconnectedBots, lambda store: store.write(registry.revoke_bots, names)
    )
    for name in names:
        ended = "; its connection was ended" if found is not None and name in found.bots else ""
        say(f"{name} may no longer connect{ended}; `arena bot rotate {name}` gives it a new token")


def approve_bots(where: str, data: Path, names: Sequence[str], *, approved: bool) -> None:
    """Approve bots, or revoke their approval. Some servers rate only matches between approved bots."""
    request = Approve(names=list(names), approved=approved)
    ask_server_or_run(
        where, data, request, type(None), lambda store: store.write(registry.approve_bots, names, approved=approved)
    )
    say(f"{', '.join(names)}: {'approved' if approved else 'not approved'}, from the next match on")


def set_people(where: str, data: Path, names: Sequence[str], *, person: bool) -> None:
    """Mark names as those of people or as those of bots. People are rated in pools of their own."""
    request = SetPeople(names=list(names), person=person)
    ask_server_or_run(
        where, data, request, type(None), lambda store: store.write(registry.set_people, names, person=person)
    )
    say(f"{', '.join(names)}: {'people' if person else 'bots'}, from the next connection on")


def set_display(where: str, data: Path, name: str, display: str | None, *, off: bool) -> None:
    """Give a bot another display name, or none."""
    if (display is None) != off:
        raise UsageFault("say the display name, or --off for none")
    told = None if display is None else normalize_display(display)
    request = SetDisplay(name=name, display=told)
    ask_server_or_run(
        where, data, request, type(None), lambda store: store.write(registry.set_display, name, request.display)
    )
    say(f"{name} is shown as {told} too, from its next connection on" if told else f"{name} is shown by its name alone")


def rename_bot(where: str, data: Path, name: str, new: str) -> None:
    """Rename a bot. Raise `UsageFault` if one of its matches is under way."""

    def rename(store: Store) -> None:
        _check_journal(data)
        store.write(registry.rename_bot, name, new)

    ask_server_or_run(where, data, Rename(name=name, new=new), type(None), rename, exclusive=True)
    say(f"{name} is now {new}, with the same token and ratings; earlier records keep {name}")


def delete_bot(where: str, data: Path, name: str, *, records: bool) -> None:
    """Delete a bot for good: replace its name by a placeholder.

    Raise `UsageFault` if no server runs and the journal has unfinished matches, which continue at the server's next
    start.
    """

    def delete(store: Store) -> DeletionResult:
        _check_journal(data)
        programs = store.read(count_versions, name)
        placeholder = store.write(registry.anonymize_bot, name)
        lost = store.read(tournaments_of_bot, placeholder)
        if not records:
            return DeletionResult(placeholder=placeholder, programs=programs, unrepeatable=lost)
        removed = remove_all(store, RecordsOfBot(placeholder).remove)
        kept = None
        try:  # even if none was removed: an earlier attempt may have been interrupted
            purge_removed_records(store)
        except ArenaFault as fault:
            kept = str(fault)
        return DeletionResult(
            placeholder=placeholder, records=removed.records, programs=programs, kept=kept, unrepeatable=lost
        )

    done = ask_server_or_run(where, data, Delete(name=name, records=records), DeletionResult, delete, exclusive=True)
    say(f"{name} is deleted, and the name is free; its results are those of {done.placeholder}")
    if done.programs:
        versions = format_count(done.programs, "version", "versions")
        say(f"{versions} of its program deleted; backups keep them, and runners for up to {CACHE_DAYS} days")
    if records:
        say(f"{format_count(done.records, 'record', 'records')} of its matches removed")
    else:
        say(f"records of its matches have the name: `arena bot delete {done.placeholder} --records` removes them")
    if done.unrepeatable:
        say(describe_unrepeatable(done.unrepeatable))
    if done.kept is not None:
        again = f"`arena bot delete {done.placeholder} --records` tries again"
        raise ArenaFault(f"files keep records that were removed: {done.kept}; {again}")


def _check_journal(data: Path) -> None:
    """Raise `UsageFault` if matches wait in the journal: they continue at the next start and refer to bots by name."""
    if any((data / "journal").glob("*.jsonl")):
        raise UsageFault(f"matches wait in {data}/journal for the next start: start the server, and ask it")


def list_bots(where: str, data: Path, *, to_json: bool) -> None:
    """Print the registered bots, their tokens' states, and who is online or when they were last seen."""
    with closing(open_to_read(where)) as reader:
        bots = reader.read(registry.all_bots)
        online = _fetch_online_bots(data, reader.database)
    if to_json:
        print_document([_bot_as_json(bot, online.get(fold_name(bot.name))) for bot in bots])
    elif not bots:
        say("no bots yet")
    else:
        rows = [
            (
                f"{bot.name} ({bot.display})" if bot.display else bot.name,
                "person" if bot.person else "",
                _token(bot),
                format_minute(bot.created),
                "yes" if bot.approved else "",
                "online" if fold_name(bot.name) in online else format_minute(bot.seen or ""),
            )
            for bot in bots
        ]
        headers = ("bot", "", "token", "since", "approved", "last seen")
        say(format_table(headers, rows, wrapped_column=0, left_columns=(1, 2, 3, 4, 5), width=terminal_columns()))


def _fetch_online_bots(data: Path, database: Database) -> dict[str, BotStatus]:
    """Return the bots that are connected to the folder's server, by case-folded name; none if no server runs."""
    try:
        found = run_on_server(database, data, StatusRequest(most=MAX_ENTRIES), ServerStatus)
    except NoServer:
        return {}
    except ArenaFault as fault:
        say(f"arena: it is unknown who is online: {fault}", err=True)
        return {}
    return {fold_name(bot.bot): bot for bot in found.bots}


def _bot_as_json(bot: RegisteredBot, status: BotStatus | None) -> dict[str, object]:
    connection = None if status is None else {name: getattr(status, name) for name in _CONNECTION_FIELDS}
    return {
        "bot": bot.name,
        "display": bot.display,
        "token": _token(bot),
        "created": bot.created[:16],
        "approved": bot.approved,
        "person": bot.person,
        "seen": bot.seen,
        "online": connection,
    }


def _token(bot: RegisteredBot) -> str:
    return "revoked" if bot.revoked else "yes" if bot.token_hash else "none"
