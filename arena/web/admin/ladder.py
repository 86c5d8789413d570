"""Admin pages that annul or restore matches and start seasons."""

from __future__ import annotations

from starlette.responses import Response

from arena.operator.changes import Annul, StartSeason
from arena.store.annulment import AnnulmentOutcome
from arena.store.match_search import Search, parse_time_bound, search_matches
from arena.store.registry import is_known_bot
from arena.store.seasons import list_seasons
from arena.web.admin.access_control import AdminRequest
from arena.web.admin.channel import ask
from arena.web.admin_config import PREFIX
from arena.web.formatting import query
from protocol.display import short_repr
from protocol.errors import Fault, UsageFault

PAGE_ROWS = 50
"""The number of matches on an admin page of the ladder."""
MATCHES_PATH = f"{PREFIX}/matches"
"""The path of the admin page of matches."""
SEASONS_PATH = f"{PREFIX}/seasons"
"""The path of the admin page of seasons."""


async def matches(request: AdminRequest) -> Response:
    """Show the latest matches of all bots or of one, with boxes to choose matches."""
    asked = {name: request.request.query_params.get(name) or None for name in ("bot", "after")}
    bot, wrong = asked["bot"], ""
    if bot is not None and not await request.read(is_known_bot, bot):
        bot, wrong = None, f"there is no bot called {short_repr(bot)}"
    found = await request.read(search_matches, Search(bot=bot), after=asked["after"], limit=PAGE_ROWS)
    return request.show("admin_matches.html", asked=asked, found=found, wrong=wrong)


async def annul(request: AdminRequest) -> Response:
    """Annul the chosen matches, or restore them, after a confirmation."""
    form = request.form
    undo, bot, since = form.one("do") == "undo", form.one("of") or None, form.one("since") or None
    ids = [*form.many("match"), *form.one("ids").split()]
    back = MATCHES_PATH + query({"bot": bot})
    try:
        if not ids and bot is None:
            raise UsageFault("select matches with their checkboxes, or name a bot")
        bound = None if since is None else parse_time_bound(since, "the day", days=0)
        if form.one("sure") != "yes":
            return request.show("admin_confirm_annul.html", undo=undo, ids=ids, bot=bot, since=since, back=back)
        done = await ask(request, Annul(ids=ids, bot=bot, since=bound, undo=undo), AnnulmentOutcome)
    except Fault as fault:
        return request.redirect_failed(str(fault), back)
    return request.redirect_done(done.describe(undo=undo), back)


async def seasons(request: AdminRequest) -> Response:
    """Show the seasons, and the form for a new one."""
    return request.show("admin_seasons.html", seasons=await request.read(list_seasons))


async def start_season(request: AdminRequest) -> Response:
    """Start a season, after a confirmation."""
    name = request.form.one("name")
    if name and request.form.one("sure") != "yes":
        return request.show("admin_confirm_season.html", name=name)
    try:
        await ask(request, StartSeason(name=name), type(None))
    except Fault as fault:
        return request.redirect_failed(str(fault), SEASONS_PATH)
    return request.redirect_done(f"season {name} has started: all ratings start over", SEASONS_PATH)
