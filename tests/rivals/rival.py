"""What the rivals share: a campaign as they see it, and the odds of battles.

Rivals are opponents for the reference bots that owe nothing to this project's own ideas: each is written from a
published description of an agent for Risk, which its module names, and fitted to the rules of the campaign, which has
no cards, no moves behind the front, a limit of attacks a turn, and battles to the end from which the victor moves in
whole. They are ordinary clients, in any tournament as `"mars=python tests/rivals/mars.py"`, or in process as
`mars=tests/rivals/mars.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from bots import Bot, Turn
from games.risk.rules.battle import MAX_ATTACK_DICE, MAX_DEFENCE_DICE, round_odds
from games.risk.rules.campaign import Campaign

_EDGE = 60
"""Units up to which odds are exact; bigger battles are taken as this big."""


class Battle(NamedTuple):
    """How a battle may end: the chance that it is won, and the attackers left on average if so."""

    chance: float
    left: float


class Strike(NamedTuple):
    """An attack: `units` go from `source` against `to`."""

    source: int
    to: int
    units: int


class View:
    """A turn's position with what rivals ask of it. Territories and continents are counted from 0, as on the map."""

    def __init__(self, turn: Turn) -> None:
        assert isinstance(turn.rules, Campaign)
        board = turn.rules.map
        self.seat = turn.seat
        self.owner: list[int] = list(turn.state["owner"])
        self.troops: list[int] = list(turn.state["troops"])
        self.attacks_left: int = turn.state["attacks_left"]
        self.neighbours: Sequence[Sequence[int]] = board.neighbours
        self.continents: Sequence[Sequence[int]] = board.members
        paid = turn.rules.draft == "classic"
        self.bonuses = [continent.bonus if paid else 0 for continent in board.continents]
        """Units that a continent brings its holder every turn."""
        self.dice = turn.rules.battle == "dice"

    def own(self) -> list[int]:
        """The seat's own territories."""
        return [at for at, owner in enumerate(self.owner) if owner == self.seat]

    def enemies(self, at: int) -> list[int]:
        """The territories of others next to one."""
        return [to for to in self.neighbours[at] if self.owner[to] != self.seat]

    def border(self) -> list[int]:
        """The seat's territories that have an enemy next to them."""
        return [at for at in self.own() if self.enemies(at)]

    def strikes(self) -> Iterator[Strike]:
        """Every attack there is, each with as many units as can go."""
        for source in self.border():
            if self.troops[source] > 1:
                for to in self.enemies(source):
                    yield Strike(source, to, self.troops[source] - 1)

    def battle(self, attackers: int, defenders: int) -> Battle:
        """A battle to the end; without attackers it is lost."""
        if self.dice:
            return _fought(attackers, defenders)
        return Battle(float(attackers > defenders), max(0, attackers - defenders))

    def units_of(self, seat: int) -> int:
        """All units of a seat."""
        return sum(troops for owner, troops in zip(self.owner, self.troops, strict=True) if owner == seat)


class Rival(Bot):
    """A player of campaigns that places its units and chooses its attacks by what it sees of one position."""

    games = ("risk-campaign",)

    @abstractmethod
    def place(self, view: View, units: int) -> Mapping[int, int]:
        """How many of `units` each territory gets; together all of them."""

    @abstractmethod
    def strike(self, view: View) -> Strike | None:
        """The next attack; None to end the turn."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        view = View(turn)
        if turn.state["phase"] == "draft":
            placed = self.place(view, turn.state["units"])
            return {"do": "draft", "units": [[at, units] for at, units in sorted(placed.items()) if units]}
        found = self.strike(view)
        if found is None:
            return {"do": "end"}
        return {"do": "attack", "from": found.source, "to": found.to, "units": found.units}


def shared_out(units: int, among: Sequence[int]) -> dict[int, int]:
    """Units in equal parts, the first of `among` one more where they don't divide."""
    each, over = divmod(units, len(among))
    return {at: each + (place < over) for place, at in enumerate(among)}


def _fought(attackers: int, defenders: int) -> Battle:
    if attackers < 1:
        return Battle(0.0, 0.0)
    scale = max(attackers, defenders, _EDGE) / _EDGE
    if scale == 1:
        return _table()[attackers][defenders]
    battle = _table()[max(1, round(attackers / scale))][max(1, round(defenders / scale))]
    return Battle(battle.chance, battle.left * scale)


@cache
def _table() -> list[list[Battle]]:
    """By attackers and defenders; what is left is weighed by its chance until all is known."""
    table = [[Battle(float(not d), float(a)) for d in range(_EDGE + 1)] for a in range(_EDGE + 1)]
    table[0] = [Battle(0.0, 0.0)] * (_EDGE + 1)
    for a in range(1, _EDGE + 1):
        for d in range(1, _EDGE + 1):
            ends = [
                (float(chance), table[a - lost][d - killed])
                for chance, lost, killed in round_odds(min(a, MAX_ATTACK_DICE), min(d, MAX_DEFENCE_DICE))
            ]
            won = sum(chance * end.chance for chance, end in ends)
            table[a][d] = Battle(won, sum(chance * end.chance * end.left for chance, end in ends) / won)
    return table
