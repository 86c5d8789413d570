"""Displays the findings of `arena test`: a line of progress, and a table, updated live and printed at the end."""

from __future__ import annotations

import time

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from arena.commands.output import format_endings
from arena.commands.tournament import TournamentRun
from arena.runs.plan import Plan
from arena.sprt.evidence import Evidence, Findings
from arena.sprt.summary import format_llr, format_units
from machine.terminal import say
from measuring import score_format
from measuring.elo import Comparison
from protocol.display import format_count

UPDATE_INTERVAL_S = 0.25
"""Minimum seconds between two updates of a test's display on a terminal."""
MAX_UPDATE_FRACTION = 0.05
"""Maximum fraction of the running time that updates of the display take.

Each update is computed from all matches so far.
"""
FIRST_MESSAGE_PAIRS = 16
"""Number of pairs of matches before the first line about progress, where there is no terminal."""


class Display:
    """A test's progress on standard error: a live table on a terminal, else a line whenever the number of pairs
    doubles.
    """

    def __init__(self, run: TournamentRun, evidence: Evidence) -> None:
        self._plan = run.plan
        self._evidence = evidence
        self._terminal = run.console.is_terminal
        self._live = Live(console=run.console, auto_refresh=False, transient=True)
        self._due = 0.0
        self._told = len(evidence.matches) // evidence.seats

    def __enter__(self) -> None:
        if self._terminal:
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self._terminal:
            self._show()
        self._live.stop()

    def update(self) -> None:
        """Update the display if it is due: by time on a terminal, else by the number of pairs."""
        pairs = len(self._evidence.matches) // self._evidence.seats
        if self._terminal:
            began = time.monotonic()
            if began >= self._due:
                self._show()
                now = time.monotonic()
                self._due = now + max(UPDATE_INTERVAL_S, (now - began) / MAX_UPDATE_FRACTION)
        elif pairs >= max(FIRST_MESSAGE_PAIRS, 2 * self._told):
            say(f"arena: {summarise_findings(self._evidence.findings())}", err=True)
            self._told = pairs

    def _show(self) -> None:
        self._live.update(format_findings(self._plan, self._evidence, self._evidence.findings()), refresh=True)


def summarise_findings(findings: Findings) -> str:
    """Return a one-line summary of a test's findings: pairs, scores and LLR."""
    said = [format_units(findings, findings.pairs)]
    if findings.score is not None:
        said.append(f"score {score_format.format_score_with_interval(findings.score)}")
    if findings.adjusted is not None:
        said.append(f"luck-adjusted {score_format.format_score_with_interval(findings.adjusted)}")
    if findings.ratio is not None:
        said.append(f"LLR {findings.ratio.llr:z.2f} ({findings.ratio.lower:.2f} to {findings.ratio.upper:.2f})")
    return ", ".join(said)


def format_findings(plan: Plan, evidence: Evidence, findings: Findings) -> RenderableType:
    """Return a test's findings as a table, with the bots above it, and the LLR with its bounds below."""
    question, (one, other) = evidence.question, evidence.bots
    endings = format_endings(findings.reasons)
    games = format_count(sum(findings.reasons.values()), "game", "games")
    against = (
        f"{one} against {other}"
        if findings.seats == 2
        else f"{one} in {len(evidence.sides[0])} of {findings.seats} seats, {other} in the rest"
    )
    said = f"{plan.rules.name}, {against}: {games}" + (f" ({endings})" if endings else "")
    rows = [Text(said)]
    if findings.score is not None:
        rows.append(_row("score", findings.score))
    if findings.adjusted is not None:
        rows.append(_row("luck-adjusted", findings.adjusted))
        worth = (
            ""
            if findings.worth is None
            else f"; worth {score_format.format_games(findings.worth)} games without adjustment"
        )
        rows.append(Text(f"luck measured by {question.value}{worth}"))
    if findings.any_time is not None:
        rows.append(
            Text(
                f"at any time     {score_format.format_interval(findings.any_time)}, {_describe_assumptions(findings)}"
            )
        )
    if question.hypotheses is not None and findings.ratio is not None:
        asked, ratio = question.hypotheses, findings.ratio
        if asked.unit == "nelo" and findings.normalised is not None:
            found = findings.normalised
            rows.append(Text(f"normalised Elo {found.elo:+z.1f} ({found.low:+z.1f} to {found.high:+z.1f})"))
        rows.append(Text(format_llr(f"{ratio.llr:z.2f}", asked, ratio.lower, ratio.upper)))
    return Group(*rows)


def _describe_assumptions(findings: Findings) -> str:
    """Return in words what the anytime-valid interval assumes, or why it may be wrong."""
    if findings.outside:
        return f"may be wrong: {format_units(findings, findings.outside)} outside 0 to 1"
    if findings.adjusted is not None:
        return f"valid whenever you stop,\n{'':<15} if bots stay as they are and pairs within 0 to 1"
    return "valid whenever you stop, if bots stay as they are"


def _row(what: str, comparison: Comparison) -> Text:
    return Text(
        f"{what:<15} {score_format.format_score_with_interval(comparison)}  "
        f"{score_format.format_elo_with_interval(comparison)}  better {score_format.format_superiority(comparison)}"
    )
