"""Admin pages that list, add, approve and revoke bots, and give new tokens."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from starlette.responses import Response

from arena.operator.changes import Approve, DisconnectedBots, Revoke, Rotate, SetPeople
from arena.operator.name_list import NAME_COLUMN, NameList, is_headed, parse_name_list
from arena.operator.new_bots import FORBIDDEN_COLUMNS, NewBots, make_name_list, with_bot_names
from arena.operator.requests import Request
from arena.operator.status import MAX_ENTRIES, BotStatus, ServerStatus, StatusRequest
from arena.store.registry import all_bots, roster_page
from arena.store.tokens import generate_token, hash_token
from arena.web.admin.access_control import AdminRequest
from arena.web.admin.channel import ask, connect_server
from arena.web.formatting import plural
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.names import fold_name

PAGE_ROWS = 200
"""The number of bots on an admin page of the roster."""
SOURCE_NAME = "the list"
"""The words by which error messages refer to the submitted list of names."""
_BOT_ACTIONS: dict[str, tuple[Callable[[list[str]], Request], str]] = {
    "approve": (lambda names: Approve(names=names), "approved"),
    "disapprove": (lambda names: Approve(names=names, approved=False), "approval withdrawn"),
    "person": (lambda names: SetPeople(names=names), "marked as people"),
    "no_person": (lambda names: SetPeople(names=names, person=False), "marked as bots"),
}
"""The actions on several bots, each with the request to the server and the word that reports its success."""


async def roster(request: AdminRequest) -> Response:
    """Show a page of all bots, or of those whose names contain a text."""
    asked = {name: request.request.query_params.get(name) or None for name in ("find", "after")}
    found = await request.read(roster_page, asked["find"] or "", after=asked["after"], limit=PAGE_ROWS)
    online: dict[str, BotStatus] | None = None
    try:
        status = await ask(request, StatusRequest(most=MAX_ENTRIES), ServerStatus)
        online = {fold_name(bot.bot): bot for bot in status.bots}
        unknown = ""
    except ArenaFault as fault:
        unknown = str(fault)
    return request.show("admin_bots.html", asked=asked, found=found, online=online, unknown=unknown, folded=fold_name)


async def change(request: AdminRequest) -> Response:
    """Apply an action to the chosen bots. Revoking and new tokens need a confirmation."""
    names, do = request.form.many("bot"), request.form.one("do")
    if not names:
        return request.redirect_failed("select bots first, with the checkboxes before their names")
    if do in ("revoke", "rotate") and request.form.one("sure") != "yes":
        return request.show("admin_confirm_bots.html", do=do, names=names)
    try:
        if do in _BOT_ACTIONS:
            made, told = _BOT_ACTIONS[do]
            await ask(request, made(names), type(None))
            return request.redirect_done(f"{told}: {', '.join(names)}")
        match do:
            case "revoke":
                ended = (await ask(request, Revoke(names=names), DisconnectedBots)).bots
                online = f"; {plural(len(ended), 'connection was', 'connections were')} ended" if ended else ""
                return request.redirect_done(f"revoked: {', '.join(names)}{online}")
            case "rotate":
                return await _rotate(request, names)
    except Fault as fault:
        return request.redirect_failed(str(fault))
    return request.redirect_failed("there is no such action for bots")


async def _rotate(request: AdminRequest, names: list[str]) -> Response:
    """Give bots new tokens, and show these once. If one bot's request fails, show the tokens of the bots before it,
    because their old tokens no longer work.
    """
    tokens: dict[str, str] = {}
    notice = None
    try:
        async with connect_server(request) as operator:
            for name in names:
                token = generate_token()
                await operator.ask(Rotate(name=name, token_hash=hash_token(token)), DisconnectedBots)
                tokens[name] = token
    except Fault as fault:
        if not tokens:
            raise
        notice = "failed", f"the other bots keep their old tokens: {fault}"
    return _tokens(request, NewBots(make_name_list(list(tokens)), tokens), "have new tokens", notice)


async def show_add_form(request: AdminRequest) -> Response:
    return request.show("admin_add.html", listed="", wrong="", proposed="")


async def add(request: AdminRequest) -> Response:
    """Register all bots of a list, or none if one can't be registered. Show their tokens once."""
    text = request.form.text("names")
    try:
        new = NewBots.make(_parse_names(text), SOURCE_NAME, await request.read(all_bots))
        await ask(request, new.request, type(None))
    except Fault as fault:
        proposed = await _proposed(request, text)
        listed, wrong = proposed or text, str(fault)
        return request.show("admin_add.html", HTTPStatus.BAD_REQUEST, listed=listed, wrong=wrong, proposed=proposed)
    notice = ("warn", "\n".join(new.notes)) if new.notes else None
    return _tokens(request, new, "added", notice)


async def _proposed(request: AdminRequest, text: str) -> str:
    """Return the list with each invalid name replaced by the nearest valid bot name, and the original as display name.
    Return "" if no name needs to be replaced, or the text is no list.
    """
    try:
        listed = _parse_names(text)
    except UsageFault:
        return ""
    better = with_bot_names(listed, await request.read(all_bots))
    return (
        ""
        if [row[NAME_COLUMN] for row in better.rows] == [row[NAME_COLUMN] for row in listed.rows]
        else better.document()
    )


def _parse_names(text: str) -> NameList:
    """Parse a list of names, as CSV or one per line. Raise `UsageFault` if it has no name or is an invalid CSV."""
    lines = text.lstrip("\ufeff").splitlines()
    if not any(line.strip() for line in lines):
        raise UsageFault("write a name on each line, or a CSV with a column name")
    if is_headed(text):
        return parse_name_list(text, SOURCE_NAME, FORBIDDEN_COLUMNS)
    named = {number: line.strip() for number, line in enumerate(lines, 1) if line.strip()}
    return NameList([NAME_COLUMN], [{NAME_COLUMN: name} for name in named.values()], list(named))


def _tokens(request: AdminRequest, new: NewBots, what: str, notice: tuple[str, str] | None = None) -> Response:
    title = f"{plural(len(new.tokens), 'bot', 'bots')} {what}"
    return request.show("admin_tokens.html", notice=notice, title=title, tokens=new.tokens, document=new.to_csv())
