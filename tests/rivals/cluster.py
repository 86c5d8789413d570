"""Spreads from its biggest cluster of territories: the agent Cluster of Sillysoft's Lux.

Sillysoft Games, Lux (2002-2008), as its author describes it: Cluster places armies evenly along the border of the
cluster centred on the biggest continent that it owns, or on its biggest army; attacks from that cluster with reckless
abandon; and goes hog-wild, attacking everywhere, when it outnumbers everyone. It neither seeks continents nor defends
them. Lux was the yardstick of most who wrote about agents for Risk.
"""

from __future__ import annotations

from collections.abc import Mapping

from rival import Rival, Strike, View, shared_out

from bots import run


class Cluster(Rival):
    """See the module."""

    def place(self, view: View, units: int) -> Mapping[int, int]:
        cluster = self._cluster(view)
        return shared_out(units, [at for at in view.border() if at in cluster])

    def strike(self, view: View) -> Strike | None:
        cluster = set(view.own()) if self._outnumbers_all(view) else self._cluster(view)
        hopeful = [one for one in view.strikes() if one.source in cluster and one.units > view.troops[one.to]]
        return max(hopeful, key=lambda one: one.units - view.troops[one.to], default=None)

    def _cluster(self, view: View) -> set[int]:
        """The territories that hang together with the centre; it has a border, as the map is connected."""
        found, new = set[int](), [self._centre(view)]
        while new:
            at = new.pop()
            if at not in found:
                found.add(at)
                new += [to for to in view.neighbours[at] if view.owner[to] == view.seat]
        return found

    def _centre(self, view: View) -> int:
        held = [members for members in view.continents if all(view.owner[at] == view.seat for at in members)]
        if held:
            return max(held, key=len)[0]
        return max(view.own(), key=lambda at: view.troops[at])

    def _outnumbers_all(self, view: View) -> bool:
        return view.units_of(view.seat) > sum(view.troops) / 2


run(Cluster("cluster"))
