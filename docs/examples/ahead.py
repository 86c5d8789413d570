from typing import Any

from bots import Bot, Turn, run


class Ahead(Bot):
    games = ("risk-duel",)

    def choose(self, turn: Turn) -> Any:
        return max(turn.legal, key=lambda move: self.hope(turn, move))

    def hope(self, turn: Turn, move: Any) -> float:
        chances = turn.rules.outcomes(turn.position, turn.rules.decode_move(move))
        return float(sum(chance * self.lead(turn, after) for chance, after in chances))

    def lead(self, turn: Turn, position: Any) -> int:
        lead = 0
        for owner, troops in zip(position.owner, position.troops, strict=True):
            if owner == turn.seat:
                lead += troops + 5
            elif owner >= 0:  # a free territory is nobody's
                lead -= troops + 5
        return lead


run(Ahead("ahead"))
