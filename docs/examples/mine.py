from bots import Bot, Turn, run


class Mine(Bot):
    def choose(self, turn: Turn):
        return turn.legal[0]


run(Mine("mine"))
