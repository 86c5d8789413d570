"""docs/rules.md against its parts and the rules: presets, moves and their effects as it states them."""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from games.nim.rules import MAX_MEAN_DEAL_BYTES
from games.risk.rules.battle import battle_odds, round_odds
from games.risk.rules.campaign import MAX_UNITS
from protocol.dice import Dice
from protocol.errors import BadConfig
from protocol.games import config_keys, game_class, game_document, game_names, load_game
from protocol.games.base import NO_DICE

DOCS = Path(__file__).parents[2] / "docs"
DOC = (DOCS / "rules.md").read_text("utf-8")
SECTIONS = {name: game_document(name, "rules_document") or "" for name in game_names()}


def shown(name: str, label: str) -> dict[str, Any]:
    """The example that a section shows behind a bold label."""
    found = re.search(rf"\*\*{label}\*\* `(\{{.*?\}})`", SECTIONS[name])
    assert found is not None
    value: dict[str, Any] = json.loads(found[1])
    return value


def script() -> Any:
    """docs/rules.py as a module."""
    spec = spec_from_file_location("rules_script", DOCS / "rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_document_is_put_together_from_what_the_rooms_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script().main(["--check"]) == 0, "python docs/rules.py writes it again"
    module = script()
    monkeypatch.setattr(module, "DOCUMENT", tmp_path / "rules.md")
    (tmp_path / "rules.md").write_text(f"{DOC} ", "utf-8")
    assert module.main(["--check"]) == 1
    assert "python docs/rules.py" in capsys.readouterr().err
    assert module.main([]) == 0
    assert (tmp_path / "rules.md").read_text("utf-8") == DOC


@pytest.mark.parametrize("name", game_names())
def test_a_games_section_is_under_its_title(name: str) -> None:
    heading = SECTIONS[name].partition("\n")[0]
    assert heading.startswith("## "), "the room has a rules.md"
    assert heading.replace("'", "’").endswith(game_class(name).title)


@pytest.mark.parametrize("name", game_names())
def test_the_document_lists_every_preset_of_a_game(name: str) -> None:
    presets = game_class(name).presets
    row = next(line for line in DOC.splitlines() if line.startswith(f"| `{name}` |"))
    assert re.findall(r"`([\w-]+)`", row)[1:] == list(presets)
    rows = re.findall(r"^\| `([\w-]+)` \| `(\{.*\})` \|$", SECTIONS[name], re.MULTILINE)
    listed = {preset: json.loads(config) for preset, config in rows} or {"classic": {}}
    assert listed == presets


@pytest.mark.parametrize("name", game_names())
def test_the_document_lists_every_config_key_with_its_default(name: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]*\| `([^`]*)` \|", SECTIONS[name], re.MULTILINE)
    defaults = {key: json.loads(default) for key, default in rows}
    assert list(defaults) == list(config_keys(name))
    assert game_class(name)(defaults).config == game_class(name)({}).config


@pytest.mark.parametrize(("name", "leaves"), [("nim", [3, 1, 7]), ("grundy", [3, 4]), ("tictactoe", None)])
def test_the_documents_state_and_move_are_as_it_says(name: str, leaves: list[int] | None) -> None:
    game = load_game(name)
    state = game.decode_state(shown(name, "State"))
    assert json.loads(json.dumps(game.encode_state(state))) == shown(name, "State")
    move = game.decode_move(shown(name, "Move"))
    if leaves is not None:
        after, _ = game.apply(state, move, Dice(b"", 0))
        assert list(game.encode_state(after)["heaps"]) == leaves
        assert str(leaves) in SECTIONS[name]


def test_the_dilemmas_example_pays_what_the_document_says() -> None:
    game = load_game("dilemma")
    state = game.decode_state(shown("dilemma", "State"))
    assert json.loads(json.dumps(game.encode_state(state))) == shown("dilemma", "State")
    chosen = game.decode_move(shown("dilemma", "Move"))
    after, _ = game.resolve_round(state, {0: chosen, 1: 0}, Dice(b"", 3))
    assert f"the\npayoffs are `{list(after.payoffs)}`" in SECTIONS["dilemma"]


@pytest.mark.parametrize(("name", "wins"), [("kuhn", "it wins {} chips"), ("leduc", "seat 0 wins {} chips")])
def test_the_poker_examples_win_what_the_document_says(name: str, wins: str) -> None:
    game = load_game(name)
    state = game.decode_state(shown(name, "State"))
    assert json.loads(json.dumps(game.encode_state(state))) == shown(name, "State")
    _, event = game.apply(state, game.decode_move(shown(name, "Move")), NO_DICE)
    assert event.result["won"] == 0
    assert wins.format(event.result["chips"]) in SECTIONS[name]


def risk(name: str) -> tuple[Any, Any]:
    """A game on the map of the document's examples, and the state that it shows."""
    game = load_game(name, {"map": "south-america"})
    state = game.decode_state(shown(name, "State"))
    assert json.loads(json.dumps(game.encode_state(state))) == shown(name, "State")
    return game, state


def leaves(game: Any, state: Any, move: dict[str, Any]) -> list[tuple[list[int], list[int]]]:
    """Owners and troops after each outcome of a move that is legal."""
    decoded = game.decode_move(move)
    game.apply(state, decoded, Dice(b"", game.ply(state)))
    return [(list(after.owner), list(after.troops)) for _, after in game.outcomes(state, decoded)]


def test_the_duels_examples_leave_what_the_document_says() -> None:
    game, state = risk("risk-duel")
    section = SECTIONS["risk-duel"]
    ((_, troops),) = leaves(game, state, shown("risk-duel", "Reinforce"))
    assert f"leaves the troops `{troops}`" in section
    (owner, troops), (kept, left) = leaves(game, state, shown("risk-duel", "Attack"))
    assert f"the owners `{owner}` and the troops `{troops}`" in section
    assert f"the owners as they were and the troops `{left}`" in section
    assert kept == list(state.owner)
    ((_, troops),) = leaves(game, game.initial(Dice(b"", 0))[0], shown("risk-duel", "Invade"))
    assert f"with {max(troops)} troops" in section
    chances = [chance for chance, _ in game.outcomes(state, game.decode_move(shown("risk-duel", "Attack")))]
    assert re.findall(r"\| (\d+) of 36 \|", section) == [str(chance * 36) for chance in chances]


def test_the_campaigns_examples_leave_what_the_document_says() -> None:
    game, state = risk("risk-campaign")
    section = SECTIONS["risk-campaign"]
    legal, options = game.legal_moves_for_turn(state)
    assert f"`{json.dumps(options)}`" in section
    draft = game.decode_move(shown("risk-campaign", "Draft"))
    assert draft != game.decode_move(legal[0]), "there are others than the one listed"
    drafted, _ = game.apply(state, draft, Dice(b"", 1))
    assert f"leaves the troops `{list(drafted.troops)}`" in section
    _, options = game.legal_moves_for_turn(drafted)
    assert f"`{json.dumps(options['attacks'][0])}`" in section
    (owner, troops), lost = leaves(game, drafted, shown("risk-campaign", "Attack"))
    assert f"the owners `{owner}` and the troops `{troops}`" in section
    assert lost == (list(state.owner), troops)
    leaves(game, drafted, shown("risk-campaign", "End"))


def test_the_odds_of_a_round_and_of_a_battle_are_as_the_document_says() -> None:
    section = SECTIONS["risk-campaign"]
    rounds = re.findall(r"^\| (\d) against (\d) \| (.*) % \| (?:(.*) %)? ?\| (.*) % \|$", section, re.MULTILINE)
    assert len(rounds) == 6
    for attack, defence, *said in rounds:
        odds = [percent(chance) for chance, _, _ in round_odds(int(attack), int(defence))]
        assert [share for share in said if share] == odds
    head, rows = "| attackers | 1 defender | 2 | 3 | 4 | 5 | 6 |", re.findall(r"^\| (\d+) \| (.*) \|$", section, re.M)
    assert head in section
    assert len(rows) > 6
    for attackers, cells in rows:
        for defenders, said in enumerate(cells.split(" | "), 1):
            taken = sum(chance for chance, _, left in battle_odds(int(attackers), defenders) if left == 0)
            assert said == percent(taken), (attackers, defenders)


def percent(chance: Any) -> str:
    return f"{float(chance) * 100:.1f}"


def test_how_rare_lost_positions_may_be_is_as_the_document_says() -> None:
    assert f"more than {MAX_MEAN_DEAL_BYTES} bytes of dice on average" in " ".join(SECTIONS["nim"].split())
    load_game("nim", {"heaps": [250, 250], "start": "p-position"}).check_cost()
    with pytest.raises(BadConfig):
        load_game("nim", {"heaps": [300, 300], "start": "p-position"}).check_cost()


def test_how_many_units_may_come_into_a_campaign_is_as_the_document_says() -> None:
    assert f"more than {MAX_UNITS:,}, counting" in " ".join(SECTIONS["risk-campaign"].split())
    for config, least in (
        ({"initial_units": 10}, (10_500 - 36 * 10) // 36),
        ({"initial_units": 10, "first_draft": 60}, (10_500 - 36 * 10 - 60) // 36),
        ({"map": "world", "players": 4, "draft": "classic"}, (10_500 - 42) // (3 * 4 + 14 + 24)),
    ):
        load_game("risk-campaign", {**config, "max_rounds": least}).check_cost()
        many = {**config, "max_rounds": least + 1}
        with pytest.raises(BadConfig, match=r"units could come into the game, .* at most 10,500. Use fewer max_rounds"):
            load_game("risk-campaign", many).check_cost()
        load_game("risk-campaign", {**many, "battle": "deterministic"}).check_cost()
