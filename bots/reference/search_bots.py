"""The reference bots that search or choose a move by a game's compiled code ("kernel"), their common parts, and their
time limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from bots.client.bot import Bot, Choice, GameList, Turn
from bots.client.settings import read_choice, read_integer
from bots.evaluation import default_weights, evaluation_names, load_evaluation, names_of
from bots.evaluation.base import EQUAL_WEIGHTS, Evaluate
from bots.search import SearchResult, TranspositionTable, expectiminimax, star1
from bots.search.base import DEFAULT_MAX_DEPTH, SearchLimit, SearchTree, deepen, is_searchable
from bots.search.kernels import (
    Algorithm,
    Kernel,
    SearchSettings,
    TimedSearch,
    choices_of,
    kernel_for,
    kernel_games,
    one_ply_for,
    settings_class_of,
    uct_for,
)
from bots.search.uct import RulesTreeSearch, has_tree_search
from bots.tuning.weights import read_weights
from bots.tuning.weights import weight_set_names as weight_names
from machine.sums import sum_in_order
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from protocol.games.wire_game import WireGame
from protocol.messages import Start

K = TypeVar("K")
EVAL_HELP = "the evaluation: features, unam, outlook, lines, parity or none; a game without it uses its own"
"""The help text of the setting `eval` of the search bots."""
WEIGHTS_HELP = (
    f"of evaluations that have them: like 1,1,1,1 or 1/1/1/1, @FILE of arena-bot tune, or {', '.join(weight_names())}"
)
"""The help text of the setting `weights` of the search bots."""

SETTING_DESCRIPTIONS = {
    key: line for game in kernel_games() for key, line in settings_class_of(game).descriptions.items()
}
"""The explanations of settings that only the searches of some games have, by key of the setting."""
DEFAULT_DEPTH = 3
"""The default depth, in plies, of `minimax` in games without a kernel."""
EXPECTED_MOVES_LEFT = 30
"""The number of moves among which a bot divides the time on its clock."""
CLOCK_RESERVE_S = 0.6
"""Seconds of the clock that are kept in reserve. They suffice to send the 500 moves of a campaign on a busy machine."""
MAX_SEARCH_S = 0.1
"""The maximum seconds for a move in games without a kernel. In these small games a longer search gains nothing, and
tournaments stay quick."""
MAX_KERNEL_SEARCH_S = 1.0
"""The maximum seconds for a move in games with a kernel."""
NODES_PER_MS = 50
"""The number of nodes that a search without a kernel visits in about a millisecond."""


def make_limit(
    turn: Turn, *, nodes: int | None, bounded: bool = False, search: TimedSearch | None = None
) -> SearchLimit:
    """Return the limit of a search: `nodes` if given, no limit if the search is `bounded` by its depth, else a
    deadline.

    The time until the deadline is counted from the arrival of the turn. It is the time on the clock beyond
    `CLOCK_RESERVE_S`, divided by `EXPECTED_MOVES_LEFT`, plus half of the increment. If nothing is left, the limit is a
    number of nodes that takes at most a millisecond.
    """
    if nodes is not None:
        return SearchLimit(nodes=nodes)
    if bounded:
        return SearchLimit()
    bank, increment = turn.clock_ms[turn.seat] / 1000, turn.increment_ms / 1000
    seconds = (bank - CLOCK_RESERVE_S) / EXPECTED_MOVES_LEFT + min(increment, bank) / 2
    if seconds <= 0:
        at_once = NODES_PER_MS if search is None else search.nodes_per_ms
        return SearchLimit(nodes=max(1, int(at_once * bank / CLOCK_RESERVE_S)))
    most = MAX_SEARCH_S if search is None else MAX_KERNEL_SEARCH_S
    return SearchLimit(deadline=turn.received + min(seconds, most))


def cached_kernel(turn: Turn, find: Callable[[Game[Any, Any]], K]) -> K:
    """Return the compiled search for the rules of a turn. `find` is called at the first turn of a match; its result is
    kept in the match's memory.
    """
    if "kernel" not in turn.memory:
        turn.memory["kernel"] = find(turn.rules)
    kernel: K = turn.memory["kernel"]
    return kernel


def evaluation_name(game: str, name: str | None) -> str:
    """Return `name` if the game has an evaluation of this name, else the name of the game's default evaluation."""
    names = names_of(game)
    return name if name in names else names[0]


def load_evaluation_for(game: str, name: str | None) -> Evaluate:
    """Load the game's evaluation called `name`; if it has none of this name, the game's default evaluation."""
    return load_evaluation(game, evaluation_name(game, name))


class CompiledBot(Bot):
    """A bot whose code is compiled before a match begins, where numba is installed."""

    games: Sequence[str] = GameList(is_searchable)

    def prepare(self, start: Start) -> None:
        self.warm_up(load_game(start.game, start.config))


class SearchingBot(CompiledBot):
    """A bot that plays the move that a search finds. A setting is text or a number; a bad one raises `UsageFault`."""

    settings: ClassVar[Mapping[str, str]] = {
        "depth": "plies (or as horizon says) to look ahead, 1 to 64; the clock is then ignored",
        "eval": EVAL_HELP,
        "nodes": "positions to visit a move instead of time, 1 or more: the same moves on every machine",
        "weights": WEIGHTS_HELP,
        **SETTING_DESCRIPTIONS,
    }
    kind: ClassVar[str]
    """The bot's name on the command line, for messages about its settings."""
    algorithm: ClassVar[Algorithm]
    """The algorithm by which the bot searches in games with a kernel."""

    def __init__(
        self,
        name: str,
        version: str = "",
        *,
        depth: int | str | None = None,
        eval: str | None = None,  # noqa: A002
        nodes: int | str | None = None,
        weights: str = "equal",
        **own: str,
    ) -> None:
        super().__init__(name, version)
        kind = self.kind
        if unknown := own.keys() - SETTING_DESCRIPTIONS.keys():
            raise TypeError(f"{kind} has no setting {min(unknown)!r}")
        self.depth = read_integer(kind, "depth", depth, 64)
        self.nodes = read_integer(kind, "nodes", nodes, 10**9)
        self.search_settings = {game: _read_settings(kind, settings_class_of(game), own) for game in kernel_games()}
        """The settings that exist only in the search of a single game, by the game's name."""
        self.weights = {name: read_weights(kind, weights, name) for name in evaluation_names()}
        """The weights of the evaluations, by name of the evaluation, then by name of the game."""
        self._weights_text = weights
        self._evaluation = None if eval is None else read_choice(kind, "eval", eval, evaluation_names())

    def check_game(self, game: Game[Any, Any]) -> None:
        super().check_game(game)
        name, given = evaluation_name(game.name, self._evaluation), self._weights_text
        if not (usual := default_weights(game.name, name)):
            return
        try:
            read_weights(self.name, given, name, strict=True)
        except UsageFault as fault:
            raise UsageFault(
                f"{self.name}: weights is {given[:40]!r}, but its evaluation of {game.name}, {name}, has {len(usual)} "
                "weights: give as many, or set eval to match"
            ) from fault

    @abstractmethod
    def generic_search(self, turn: Turn) -> Callable[..., SearchResult[Any]]:
        """Return the function that searches in games without a kernel."""

    def max_depth(self, kernel: Kernel | None) -> int:
        """Return the depth limit of the search, in plies."""
        return self.depth or DEFAULT_MAX_DEPTH

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None and (kernel := kernel_for(game)) is not None:
            kernel.warm_up()

    def choose(self, turn: Turn) -> Choice:
        kernel = cached_kernel(turn, kernel_for)
        game = turn.rules.name
        depth = self.max_depth(kernel)
        limit = make_limit(turn, nodes=self.nodes, bounded=self.depth is not None, search=kernel)
        if kernel is None:
            evaluate = load_evaluation_for(game, self._evaluation)
            search = self.generic_search(turn)
            found = deepen(turn.rules, turn.position, search, limit=limit, max_depth=depth, evaluate=evaluate)
        else:
            name = evaluation_name(game, self._evaluation)
            found = kernel.search(
                turn.position,
                depth=depth,
                algorithm=self.algorithm,
                evaluation=name,
                weights=self.weights[name].get(game, EQUAL_WEIGHTS),
                settings=self.search_settings[game],
                below=turn.random.randrange,
                limit=limit,
            )
        assert found.move is not None
        move = turn.rules.encode_move(found.move)
        return Choice(move, value=found.value, depth=found.depth, nodes=found.nodes)


def _read_settings(bot: str, kind: type[SearchSettings], own: Mapping[str, str]) -> SearchSettings:
    """Return the settings of a search: the values in `own`, else defaults. Raise `UsageFault` if a value is
    invalid.
    """
    return kind(
        **{key: read_choice(bot, key, own[key], names) for key, names in choices_of(kind).items() if key in own}
    )


class Minimax(SearchingBot):
    """Searches by minimax to a fixed depth, by expectiminimax in games with chance.

    The search deepens ply by ply, so that the move of a smaller depth is ready if time runs out.
    """

    kind = "minimax"
    algorithm = "expectiminimax"

    def max_depth(self, kernel: Kernel | None) -> int:
        usual = DEFAULT_DEPTH if kernel is None else kernel.default_depth
        return self.depth or (DEFAULT_MAX_DEPTH if self.nodes else usual)

    def generic_search(self, turn: Turn) -> Callable[..., SearchResult[Any]]:
        return expectiminimax


class AlphaBeta(SearchingBot):
    """Searches by alpha-beta, or by Star1 in games with chance, with iterative deepening and a transposition table."""

    kind = "alphabeta"
    algorithm = "alphabeta"

    def generic_search(self, turn: Turn) -> Callable[..., SearchResult[Any]]:
        return partial(star1, table=turn.memory.setdefault("table", TranspositionTable()))


class GeneticBot(AlphaBeta):
    """Plays Risk with weights that `arena-bot tune` has tuned for the game and the evaluation."""

    kind = "ga"

    def __init__(self, name: str, version: str = "", *, weights: str = "adjusted", **settings: Any) -> None:
        super().__init__(name, version, weights=weights, **settings)


class Greedy(CompiledBot):
    """Plays the move with the best expected evaluation: of several, a random one; in a campaign, the first."""

    settings: ClassVar[Mapping[str, str]] = {"eval": EVAL_HELP}

    def __init__(self, name: str, version: str = "", *, eval: str | None = None) -> None:  # noqa: A002
        super().__init__(name, version)
        self._evaluation = None if eval is None else read_choice("greedy", "eval", eval, evaluation_names())

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None and (kernel := one_ply_for(game)) is not None:
            kernel.warm_up()

    def choose(self, turn: Turn) -> Choice:
        rules = turn.rules
        kernel = cached_kernel(turn, one_ply_for)
        if kernel is not None:
            limit = make_limit(turn, nodes=None, search=kernel)
            found = kernel.search_one_ply(
                turn.position, evaluation=evaluation_name(rules.name, self._evaluation), limit=limit
            )
            return Choice(rules.encode_move(found.move), value=found.value, depth=1, nodes=found.nodes)
        tree = SearchTree(rules, turn.position, evaluate=load_evaluation_for(rules.name, self._evaluation))
        best = -tree.win
        equals: list[Any] = []
        moves = rules.legal_moves(turn.position)
        for move in moves:
            outcomes = tree.outcomes(turn.position, move)
            value = sum_in_order(float(chance) * value_of_state(tree, result) for chance, result in outcomes)
            if value > best:
                best, equals = value, []
            if value == best:
                equals.append(move)
        return Choice(rules.encode_move(turn.random.choice(equals)), value=best, depth=1, nodes=len(moves))


def value_of_state(tree: SearchTree[Any, Any], state: Any) -> float:
    """Return the value of a state for the seat to move at the root of `tree`. The value does not depend on the number
    of plies between the root and the state.
    """
    return tree.value_of_terminal(state, 0) if tree.rules.to_move(state) is None else tree.evaluate(state)


class Uct(CompiledBot):
    """Plays by Monte Carlo tree search: the most visited move. The value that it reports is the mean result of the
    simulations, from 0 to 1. In a campaign, every turn of a playout lowers its result by a hundredth.
    """

    games: Sequence[str] = GameList(has_tree_search)
    settings: ClassVar = {
        "sims": "simulations a move instead of time, 10 or more to search: the same moves on every machine"
    }

    def __init__(self, name: str, version: str = "", *, sims: int | str | None = None) -> None:
        super().__init__(name, version)
        self.sims = read_integer("uct", "sims", sims, 10**9)

    def check_game(self, game: Game[Any, Any]) -> None:
        if not isinstance(game, WireGame) and game.hidden and type(game).sample_state is Game.sample_state:
            reason = "its rules can't draw at random what a seat does not see, which a search needs"
            raise UsageFault(f"{self.name} does not play {game.name}: {reason}")
        super().check_game(game)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None:
            uct_for(game).warm_up()

    def choose(self, turn: Turn) -> Choice:
        kernel = cached_kernel(turn, uct_for)
        below = turn.random.randrange
        if isinstance(kernel, RulesTreeSearch):
            limit = make_limit(turn, nodes=self.sims)
            found = kernel.search(turn.position, seat=turn.seat, below=below, limit=limit)
        else:
            limit = make_limit(turn, nodes=self.sims, search=kernel)
            found = kernel.search(turn.position, events=turn.events, below=below, limit=limit)
        assert found.move is not None
        value = found.value if found.leaves else None
        return Choice(turn.rules.encode_move(found.move), value=value, nodes=found.nodes)
