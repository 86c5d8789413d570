"""What `arena test` shows: its findings while it runs and in the end, what it warns of, and the file it writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from arena.commands.output import write_document
from arena.commands.text_tables import columns, counted
from arena.commands.tournament_report import print_uncontested_losses
from arena.sprt.evidence import Evidence, Findings, Question
from arena.sprt.summary import amount, conclusion, warnings
from arena.tournament.plan import Plan
from measuring import score_format
from measuring.elo import Comparison
from protocol.dice import Dice
from protocol.games import load
from protocol.games.base import Game

SHOWN_EVERY = 0.25
"""Seconds at a terminal, at least."""
SHOWN_FOR = 0.05
"""Share of the time that this may take: findings are made of all matches so far."""
FIRST_TOLD = 16
"""Pairs after which a line is said elsewhere."""


class Display:
    """Follows a test on standard error: at a terminal its findings as they are, else a line whenever they doubled."""

    def __init__(self, plan: Plan, evidence: Evidence) -> None:
        self.console = Console(stderr=True)
        self._plan = plan
        self._evidence = evidence
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._due = 0.0
        self._told = len(evidence.matches) // 2

    def __enter__(self) -> None:
        if self.console.is_terminal:
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._show()
        self._live.stop()

    def look(self) -> None:
        """Show the findings, if it is time."""
        pairs = len(self._evidence.matches) // 2
        if self.console.is_terminal:
            began = time.monotonic()
            if began >= self._due:
                self._show()
                now = time.monotonic()
                self._due = now + max(SHOWN_EVERY, (now - began) / SHOWN_FOR)
        elif pairs >= max(FIRST_TOLD, 2 * self._told):
            print(f"arena: {standing(self._evidence.findings())}", file=sys.stderr)
            self._told = pairs

    def _show(self) -> None:
        self._live.update(shown(self._plan, self._evidence.question, self._evidence.findings()), refresh=True)


class Conclusion:
    """What a test that is over, or goes no further, has found."""

    def __init__(self, plan: Plan, evidence: Evidence) -> None:
        self._plan = plan
        self._evidence = evidence
        self._findings = evidence.findings()
        self._conclusion = conclusion(evidence.bots, evidence.question, self._findings)
        others = [name for name in plan.rules.presets if name != plan.rules.preset]
        dealing = [name for name in others if _deals(load(plan.rules.name, {"preset": name}))]
        self._warnings = list(warnings(evidence.bots, self._findings, others, dealing))

    def write(self, file: Path, arguments: Mapping[str, Any]) -> None:
        """Write everything as JSON, whole or not at all. Raises `ArenaFault`."""
        content = {
            "tournament": self._plan.id,
            "seed": self._plan.seed,
            "arguments": arguments,
            "conclusion": self._conclusion,
            "warnings": self._warnings,
            "findings": self._findings,
            "matches": [{"luck": sample.luck, "result": sample.result} for sample in self._evidence.matches],
        }
        write_document(file, content)

    def show(self, data: Path) -> None:
        """Print the findings, whose words in the data folder are worth reading, and what came of it."""
        console = Console(width=columns(), highlight=False)
        console.print(shown(self._plan, self._evidence.question, self._findings))
        console.print(f"seed {self._plan.seed}, id {self._plan.id}")
        print_uncontested_losses(console, self._plan, [sample.result for sample in self._evidence.matches], data)
        for said in self._warnings:
            console.print(f"\n{said}", markup=False)
        console.print(f"\n{self._conclusion}", markup=False)


def _deals(game: Game[Any, Any]) -> bool:
    """Whether pairs of its matches start differently."""
    return game.config_of_deal(Dice(b"", 0)) != game.config


def standing(findings: Findings) -> str:
    """The findings in a line."""
    said = [counted(findings.pairs, "pair", "pairs")]
    if findings.score is not None:
        said.append(f"score {score_format.share(findings.score)}")
    if findings.adjusted is not None:
        said.append(f"less luck {score_format.share(findings.adjusted)}")
    if findings.ratio is not None:
        said.append(f"LLR {findings.ratio.llr:z.2f} of {findings.ratio.lower:.2f} to {findings.ratio.upper:.2f}")
    return ", ".join(said)


def shown(plan: Plan, question: Question, findings: Findings) -> RenderableType:
    """The findings as a table, with what they are of above it and where the test is between its bounds below."""
    reasons = ", ".join(f"{reason} {times}" for reason, times in findings.reasons.items())
    games = counted(sum(findings.reasons.values()), "game", "games")
    said = f"{plan.rules.name}, {plan.names[0]} against {plan.names[1]}: {games}" + (f" ({reasons})" if reasons else "")
    rows = [Text(said)]
    if findings.score is not None:
        rows.append(_row("as it came out", findings.score))
    if findings.adjusted is not None:
        rows.append(_row("less luck", findings.adjusted))
        worth = (
            "" if findings.worth is None else f", worth {score_format.games(findings.worth)} games with luck left in"
        )
        rows.append(Text(f"luck by the value {question.value}{worth}"))
    if question.hypotheses is not None and findings.ratio is not None:
        asked, ratio = question.hypotheses, findings.ratio
        if asked.unit == "nelo" and findings.normalised is not None:
            found = findings.normalised
            rows.append(Text(f"normalised Elo {found.elo:+z.1f} ({found.low:+z.1f} to {found.high:+z.1f})"))
        h0, h1 = (amount(edge, asked.unit) for edge in (asked.h0, asked.h1))
        rows.append(Text(f"LLR {ratio.llr:z.2f}: h0 ({h0}) below {ratio.lower:.2f}, h1 ({h1}) above {ratio.upper:.2f}"))
    return Group(*rows)


def _row(what: str, found: Comparison) -> Text:
    return Text(
        f"{what:<15} {score_format.share(found)}  {score_format.elo(found)}  better {score_format.better(found)}"
    )
