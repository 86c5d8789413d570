"""The description of a game: its name, plain data, the import paths of its code and the names of its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

FAMILY_SEPARATOR = ":"
"""The separator in the name of a game of a family, `FAMILY:GAME`. No other name of a game has it."""


class EvaluationSpec(NamedTuple):
    """A function that evaluates unfinished states of a game. An import path has the form `module:name`."""

    function: str
    """The import path of the evaluation function, a `bots.evaluation.base.Evaluate`."""
    weights: str | None = None
    """The import path of the default weights; None if the evaluation has no weights."""
    max_weight: float | None = None
    """The highest valid weight; None if there is no limit."""


class GameFamily(NamedTuple):
    """The games of an installed package that has too many to load them all. A game of the family has the name
    `FAMILY:GAME`. It is loaded when somebody names it. The family names code by import paths and imports nothing.
    """

    find_spec: str
    """The import path of a function (name, as `FAMILY:GAME`) -> `GameSpec`. It raises `UnknownGame`, with the reason,
    for a name without a game that can be played.
    """


class GameSpec(NamedTuple):
    """The description of one game. It names code by import paths, `module:name`, and imports nothing.

    Only `name`, `room` and `rules` are required. A field is None or empty if the game has nothing for it. The fields
    for documents have default names, and a game may lack these files.
    """

    name: str
    room: str
    """The package with the game's files: documents, levels.toml and the folder web."""
    rules: str
    """The import path of the class, a subclass of `protocol.games.base.Game`."""
    version: str = ""
    """The version of the rules, which the class has as well. Like `digest`, it is empty for games that come with
    bot-arena.
    """
    digest: str = ""
    """The digest of the sources of the rules, hexadecimal."""
    offered: bool = True
    """False if the operator removed the game: matches that have begun go on, and no new ones begin."""
    rules_document: str = "rules.md"
    """The file in `room` with the game's section of docs/rules.md."""
    summary_document: str = "summary.md"
    """The file in `room` with the rules in a paragraph, for language models."""
    evaluations: Mapping[str, EvaluationSpec] = {}
    """The evaluations by name, the default first."""
    value_scale: Mapping[str, float] = {}
    """The fields of `bots.evaluation.base.ValueScale` that differ from their defaults."""
    kernel: str | None = None
    """The import path of the compiled search, a `bots.search.kernels.Kernel`."""
    has_one_ply_search: bool = False
    """True if the kernel is a `bots.search.kernels.OnePlyKernel`."""
    tree_search: str | None = None
    """The import path of the Monte Carlo tree search, a `bots.search.kernels.TreeSearch`."""
    search_settings: str | None = None
    """The import path of the settings of kernels, a subclass of `bots.search.kernels.SearchSettings`."""
    encoding: str | None = None
    """The import path of the encoding for learners, a `bots.environments.encodings.Encoding`."""
    batch: str | None = None
    """The import path of the batched rules, a `bots.environments.batched.batch.Batch`."""
    value_functions: str | None = None
    """The import path of a function (game) -> `measuring.value_function.ValueFactories`."""
    position_classifier: str | None = None
    """The import path of a function (game) -> `measuring.position_kinds.PositionClassifier`."""
    grader: str | None = None
    """The import path of a function (game) -> `machine.exact.graders.Grader`."""
    grading_check: str | None = None
    """The import path of a function (game) that says if moves under this config can be graded; None if always."""
    solving_check: str | None = None
    """The import path of a function (config) that returns whether grading moves may first have to solve a table."""
    table_store: str | None = None
    """The import path of a function (folder, max_bytes) that sets where tables solved on demand are stored."""
    move_value_unit: str | None = None
    """The unit of move values and of payoffs, such as `chips`; None if move values are expected results."""
    perfect_player: str | None = None
    """The import path of a `bots.reference.perfect.PerfectPlayer`, by which the bot `perfect` plays."""
    tuning_presets: str | None = None
    """The import path of the presets of `arena-bot tune`, a mapping from names to `bots.tuning.tuning.TuningPreset`."""
    weight_sets: str | None = None
    """The folder in `room` with the named sets of weights, as files of tunings."""
    demo_bot: str | None = None
    """The bot of a demo server that seeks rated matches of the game, as written on the command line. No other demo bot
    may have the same name. If the bot needs no warm-up, matches begin at once.
    """
    analyses: Mapping[str, str] = {}
    """The import paths of the commands of `arena-bot analyze`, by the name of the command."""
    solver: str | None = None
    """The import path of a function (`bots.commands.solve.SolveOptions`) that solves the game for `arena-bot solve`."""
    solver_options: Mapping[str, int | None] = {}
    """The options of `arena-bot solve` that the solver takes, without hyphens, and their defaults. None if the solver
    chooses the default.
    """
    exploitability: str | None = None
    """The import path of a function (bot, game, samples, seed) that measures how much the best counter-strategy
    wins.
    """
    board: str | None = None
    """The script that draws the game's board on web pages. The values of this and of the following attributes are names
    of files in the folder `web` of `room`.
    """
    check: str | None = None
    """The script with the rules of the game. Browsers check records with it, by refereeing them again."""
    tutorial: str | None = None
    """The script of the tutorial, if the game's class has a config for a tutorial."""
    picture: str | None = None
    """The picture of the game, an SVG file."""
    styles: tuple[str, ...] = ()
    """The style sheets of the board."""
