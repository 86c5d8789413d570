"""Bounded Risk, for two seats on one continent, and Risk campaigns, for two to six seats on whole maps.

- rules/: the rules of both games, their maps, battles and texts.
- search/: compiled searches ("kernels"), tree searches and policies. evaluation.py has the evaluations.
- exact/: tables of exact values of bounded Risk.
- environments/: encodings for learners and batched rules.
- measuring/: value functions. position_kinds.py has the position kinds.
- bots.py: the bots that play Risk alone. commands.py and analysis.py are for `arena-bot`.
- tuning/: presets of `arena-bot tune` and the named sets of weights.
- web/: boards, rules and tutorials for browsers.
"""

from __future__ import annotations

from protocol.games.spec import EvaluationSpec, GameSpec

_FEATURES = EvaluationSpec("games.risk.evaluation:features", "bots.evaluation.base:EQUAL_WEIGHTS")
"""The evaluation that both games have: it rates a position by four features."""
_VALUE_SCALE = {"evaluation_factor": 900_000.0}
"""The scale of a search's values in both games. A position that is evaluated as 1, the best evaluation, has the value
900,000; a win has about 1,000,000.
"""
SPECS = (
    GameSpec(
        name="risk-duel",
        room="games.risk",
        rules="games.risk.rules.duel:Duel",
        rules_document="rules-duel.md",
        summary_document="summary-duel.md",
        evaluations={"features": _FEATURES, "unam": EvaluationSpec("games.risk.evaluation:unam")},
        value_scale=_VALUE_SCALE,
        kernel="games.risk.search.duel_search:DuelSearch",
        tree_search="games.risk.search.duel_uct:DuelUct",
        search_settings="games.risk.search.settings:DuelSettings",
        encoding="games.risk.environments.encoding:DuelEncoding",
        batch="games.risk.environments.duel_batch:DuelBatch",
        value_functions="games.risk.measuring.value_functions:duel_values",
        position_classifier="games.risk.position_kinds:duel_classifier",
        demo_bot="level:1",  # shows how weak random moves are
        grader="games.risk.exact.table:grader_of",
        grading_check="games.risk.exact.table:can_grade",
        solving_check="games.risk.exact.table:may_need_solving",
        table_store="games.risk.exact.table:store_new_tables_in",
        tuning_presets="games.risk.tuning.presets:PRESETS",
        weight_sets="tuning/weights/risk-duel",
        analyses={"duel": "games.risk.commands:analyze_duel"},
        solver="games.risk.commands:solve_duel",
        solver_options={"preset": None, "config": None, "jobs": None},
        board="duel-board.js",
        check="duel-check.js",
        tutorial="duel-tutorial.js",
        picture="duel-picture.svg",
        styles=("board.css",),
    ),
    GameSpec(
        name="risk-campaign",
        room="games.risk",
        rules="games.risk.rules.campaign:Campaign",
        rules_document="rules-campaign.md",
        summary_document="summary-campaign.md",
        evaluations={
            "outlook": EvaluationSpec(
                "games.risk.evaluation:outlook", "games.risk.evaluation:DEFAULT_OUTLOOK_WEIGHTS", 10.0
            ),
            "features": _FEATURES,
        },
        value_scale=_VALUE_SCALE,
        kernel="games.risk.search.campaign_kernel:CampaignKernel",
        has_one_ply_search=True,
        tree_search="games.risk.search.campaign_uct:CampaignUct",
        search_settings="games.risk.search.settings:CampaignSettings",
        encoding="games.risk.environments.encoding:CampaignEncoding",
        batch="games.risk.environments.campaign_batch:CampaignBatch",
        value_functions="games.risk.measuring.value_functions:campaign_values",
        position_classifier="games.risk.position_kinds:campaign_classifier",
        demo_bot="ga:nodes=500",
        tuning_presets="games.risk.tuning.presets:PRESETS",
        weight_sets="tuning/weights/risk-campaign",
        board="campaign-board.js",
        check="campaign-check.js",
        tutorial="campaign-tutorial.js",
        picture="campaign-picture.svg",
        styles=("board.css",),
    ),
)
"""The specs of bounded Risk and of campaigns."""
