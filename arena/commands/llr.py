"""`arena llr`: what counts of results say to two hypotheses, as other testers of engines count them."""

from __future__ import annotations

from collections.abc import Sequence

from arena.commands.output import print_document
from arena.sprt.counts import PENTANOMIAL, CountFindings, findings_of_counts
from arena.sprt.summary import amount
from machine.terminal import say
from measuring import score_format
from measuring.elo import EloDifference
from measuring.sequential import Hypotheses


def run(counts: Sequence[int], hypotheses: Hypotheses, *, to_json: bool) -> None:
    """Print it. Raises `UsageFault`."""
    found = findings_of_counts(counts, hypotheses)
    if to_json:
        print_document({"counts": list(counts), "hypotheses": hypotheses, **_fields(found)})
        return
    pairs = f" in {found.units:,} pairs" if len(counts) == PENTANOMIAL else ""
    say(f"{found.games:,} {'game' if found.games == 1 else 'games'}{pairs}")
    score = found.score
    say(f"score           {score.score:.5f} ({score.low:.5f}-{score.high:.5f})  better {score_format.better(score)}")
    say(f"Elo             {_elo(score.elo)}")
    if found.normalised is not None:
        say(f"normalised Elo  {_elo(found.normalised)}")
    h0, h1 = (amount(edge, hypotheses.unit) for edge in (hypotheses.h0, hypotheses.h1))
    say(f"LLR {found.llr:z.4f}: h0 ({h0}) below {found.lower:.2f}, h1 ({h1}) above {found.upper:.2f}")
    say("undecided" if found.verdict is None else f"{found.verdict} is accepted")


def _fields(found: CountFindings) -> dict[str, object]:
    return {name: getattr(found, name) for name in found.__struct_fields__}


def _elo(found: EloDifference) -> str:
    """With two digits, as who compares testers wants them; where it would be infinite that is said."""
    elo, low, high = (
        end if value is None else f"{value:+z.2f}"
        for value, end in ((found.elo, "infinite"), (found.low, "-inf"), (found.high, "+inf"))
    )
    return f"{elo} ({low} to {high})"
