"""Admin pages that list, add, approve and revoke bots, and give new tokens."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from starlette.responses import Response

from arena.operator.changes import Approve, Dismissed, Revoke, Rotate, SetPeople
from arena.operator.name_list import NAME, NameList, is_headed, parse_name_list
from arena.operator.new_bots import REFUSED, NewBots, names_alone, with_bot_names
from arena.operator.requests import Request
from arena.operator.status import ALL, BotStatus, ServerStatus, StatusRequest
from arena.store.registry import all_bots, roster_page
from arena.store.tokens import hash_token, new_token
from arena.web.admin.access_control import Visit
from arena.web.admin.channel import ask, server_of
from arena.web.formatting import plural
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.names import folded

ROWS = 200
SOURCE = "the list"
"""The name of the submitted list in error messages."""
_CHANGES: dict[str, tuple[Callable[[list[str]], Request], str]] = {
    "approve": (lambda names: Approve(names=names), "approved"),
    "disapprove": (lambda names: Approve(names=names, approved=False), "no longer approved"),
    "person": (lambda names: SetPeople(names=names), "people"),
    "no_person": (lambda names: SetPeople(names=names, person=False), "bots"),
}
"""Actions on several bots: the request to the server, and the words for the confirmation."""


async def roster(visit: Visit) -> Response:
    """Show a page of all bots, or of those whose names contain a text."""
    asked = {name: visit.request.query_params.get(name) or None for name in ("find", "after")}
    found = await visit.read(roster_page, asked["find"] or "", after=asked["after"], limit=ROWS)
    online: dict[str, BotStatus] | None = None
    try:
        status = await ask(visit, StatusRequest(most=ALL), ServerStatus)
        online = {folded(bot.bot): bot for bot in status.bots}
        unknown = ""
    except ArenaFault as fault:
        unknown = str(fault)
    return visit.show("admin_bots.html", asked=asked, found=found, online=online, unknown=unknown, folded=folded)


async def change(visit: Visit) -> Response:
    """Apply an action to the chosen bots. Revoking and new tokens need a confirmation."""
    names, do = visit.form.many("bot"), visit.form.one("do")
    if not names:
        return visit.failed("choose the bots first, by the boxes before their names")
    if do in ("revoke", "rotate") and visit.form.one("sure") != "yes":
        return visit.show("admin_confirm_bots.html", do=do, names=names)
    try:
        if do in _CHANGES:
            made, told = _CHANGES[do]
            await ask(visit, made(names), type(None))
            return visit.done(f"{told}: {', '.join(names)}")
        match do:
            case "revoke":
                ended = (await ask(visit, Revoke(names=names), Dismissed)).bots
                online = f"; {plural(len(ended), 'connection was', 'connections were')} ended" if ended else ""
                return visit.done(f"revoked: {', '.join(names)}{online}")
            case "rotate":
                return await _rotate(visit, names)
    except Fault as fault:
        return visit.failed(str(fault))
    return visit.failed("there is no such thing to do with bots")


async def _rotate(visit: Visit, names: list[str]) -> Response:
    """Give bots new tokens, and show them once. If one fails, show those before it: the old ones are void already."""
    tokens: dict[str, str] = {}
    notice = None
    try:
        async with server_of(visit) as operator:
            for name in names:
                token = new_token()
                await operator.ask(Rotate(name=name, token_hash=hash_token(token)), Dismissed)
                tokens[name] = token
    except Fault as fault:
        if not tokens:
            raise
        notice = "failed", f"the rest have no new tokens: {fault}"
    return _tokens(visit, NewBots(names_alone(list(tokens)), tokens), "have new tokens", notice)


async def adding(visit: Visit) -> Response:
    """Show the form for new bots."""
    return visit.show("admin_add.html", listed="", wrong="", proposed="")


async def add(visit: Visit) -> Response:
    """Register new bots, all or none, and show their tokens once."""
    text = visit.form.text("names")
    try:
        new = NewBots.of(_listed(text), SOURCE, await visit.read(all_bots))
        await ask(visit, new.request, type(None))
    except Fault as fault:
        proposed = await _proposed(visit, text)
        listed, wrong = proposed or text, str(fault)
        return visit.show("admin_add.html", HTTPStatus.BAD_REQUEST, listed=listed, wrong=wrong, proposed=proposed)
    notice = ("warn", "\n".join(new.notes)) if new.notes else None
    return _tokens(visit, new, "may come in", notice)


async def _proposed(visit: Visit, text: str) -> str:
    """A list with the nearest names for bots, and people's own as display names; empty where all names are for bots."""
    try:
        listed = _listed(text)
    except UsageFault:
        return ""
    better = with_bot_names(listed, await visit.read(all_bots))
    return "" if [row[NAME] for row in better.rows] == [row[NAME] for row in listed.rows] else better.document()


def _listed(text: str) -> NameList:
    """Parse a list of names, as CSV or one per line. Raises `UsageFault`."""
    lines = text.lstrip("\ufeff").splitlines()
    if not any(line.strip() for line in lines):
        raise UsageFault("write a name on each line, or a CSV with a column name")
    if is_headed(text):
        return parse_name_list(text, SOURCE, REFUSED)
    named = {number: line.strip() for number, line in enumerate(lines, 1) if line.strip()}
    return NameList([NAME], [{NAME: name} for name in named.values()], list(named))


def _tokens(visit: Visit, new: NewBots, what: str, notice: tuple[str, str] | None = None) -> Response:
    title = f"{plural(len(new.tokens), 'bot', 'bots')} {what}"
    return visit.show("admin_tokens.html", notice=notice, title=title, tokens=new.tokens, document=new.document())
