"""Numbers, times and addresses as pages show them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote, urlencode

import msgspec
from jinja2.utils import htmlsafe_json_dumps

MINUS = "\u2212"
THIN = "\u202f"
"""Stands between thousands, where no line breaks."""


def segment(text: object) -> str:
    """Text as one segment of an address."""
    return quote(str(text), safe="")


def query(values: Mapping[str, object], **changes: object) -> str:
    """The query of an address, `?` included: the values with these changes, without those that are None or empty."""
    said = {name: value for name, value in {**values, **changes}.items() if value not in (None, "")}
    return f"?{urlencode(said)}" if said else ""


def decimal(value: float, places: int = 1) -> str:
    """A number with a true minus sign, 4 digits and more in groups of three."""
    text = f"{abs(value):,.{places}f}".replace(",", THIN)
    return MINUS + text if value < 0 and float(f"{value:.{places}f}") != 0 else text


def grouped(value: int) -> str:
    """A whole number in groups of three."""
    return decimal(value, 0)


def percent(share: float) -> str:
    """A share of 1 in percent."""
    return f"{decimal(100 * share)}{THIN}%"


def rating(mu: float, sigma: float) -> str:
    """What is believed of a bot's skill: the mean, and how far from it the skill may be."""
    return f"{decimal(mu)} ± {decimal(3 * sigma)}"


def moment(time: str) -> str:
    """A time of the store's to the minute, in UTC."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M")


def day(time: str) -> str:
    """The day of a time of the store's, in UTC."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d")


def thinking(ms: float | None) -> str:
    """A thinking time with its unit."""
    if ms is None:
        return "–"
    if ms < 999.5:
        return f"{decimal(ms, 1 if ms < 9.95 else 0)}{THIN}ms"
    return f"{decimal(ms / 1000, 1)}{THIN}s"


def plural(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{grouped(number)} {one if number == 1 else many}"


def capital(sentence: str) -> str:
    """A sentence with its first letter large and its full stop."""
    return f"{sentence[:1].upper()}{sentence[1:]}" + ("" if sentence.endswith((".", "?")) else ".")


def data(value: object) -> str:
    """A value, structs among it, as the content of a script of type application/json."""
    return htmlsafe_json_dumps(value, dumps=lambda found, **_: msgspec.json.encode(found).decode())


FILTERS = {
    function.__name__: function
    for function in (segment, decimal, grouped, percent, rating, moment, day, thinking, plural, capital, data)
}
