"""The rules of each game in a paragraph, for beginners; docs/rules.md has the full rules."""

from __future__ import annotations

from collections.abc import Mapping

GAME_RULES: Mapping[str, str] = {
    "nim": (
        "There are heaps of counters, numbered from 0. The seats move in turn. A move takes counters from one heap: "
        "any number, or only one of the numbers in `take` of the config. A seat that cannot move loses; with `misere` "
        "it wins."
    ),
    "grundy": (
        "There are heaps of counters, numbered from 0. The seats move in turn. A move splits one heap into two of "
        "different sizes, each at least 1, so heaps of 1 and 2 cannot be split. A seat that cannot move loses. The "
        "smaller part keeps the place of the heap, and the other part goes to the end."
    ),
    "tictactoe": (
        "The board has three rows of three cells. Seat 0 plays X and seat 1 plays O. In turn, each seat puts its mark "
        "in an empty cell. Three marks in a row, a column or a diagonal win; a full board without them is a draw. "
        "Cells are numbered row by row: 0 1 2 is the first row, and 4 is the centre."
    ),
    "risk-duel": (
        "Two seats fight for one continent. A seat that owns every territory wins; after `max_plies` actions the match "
        "is a draw. A turn is one action. While any territory is free, you have to invade a free one, anywhere on the "
        "map. It gets 3 troops; in the first invasions it gets the numbers that `armies` lists. If no territory is "
        "free, you reinforce one of yours (2 more troops, up to `max_troops`), or you attack. An attack goes from one "
        "of your territories across a border to an enemy territory with no more troops than yours. Each side rolls one "
        "die. If yours is higher (15 of 36), the enemy territory is yours, with 1 troop, and the attacking territory "
        "is unchanged. Otherwise (21 of 36) the attacking territory loses as many troops as the attacked one holds. If "
        "it has none left, it is free, and the next action has to invade it."
    ),
    "risk-campaign": (
        "Two to six seats fight for a map. The last seat in the game wins. After `max_rounds` the seat with the most "
        "territories wins; if these are equal, the one with the most units. A turn is a draft, then attacks. In the "
        "draft you place all your new units on your territories. You get one for each of your territories. With "
        "`draft` classic you get a third of that, at least 3, and the bonus of every continent that you own. Then you "
        "may attack up to `max_attacks` times, each time from one of your territories to an enemy territory beside it, "
        "with at least 1 unit, while at least 1 stays behind. The units fight until one side is gone. With `battle` "
        "dice, the attacker rolls at most 3 dice and the defender at most 2. The highest dice are compared, and also "
        "the second highest if both rolled more than one. The lower side loses a unit, and the defender wins ties. "
        "With `battle` deterministic, you take the territory if you send more units than it holds. All attackers that "
        "are left move in. `end` ends the turn early. The seats follow each other from 0. With `turn_order` snake "
        "every other round goes from the last seat to the first, so the last seat of a round begins the next. "
        "`first_draft` is the number of units in the first draft of seat 0."
    ),
    "dilemma": (
        "Two seats choose at the same time, round after round, without knowing the other's choice. `choices` of the "
        "config names the choices. `payoffs` has a row for each choice of seat 0, and in it, for each choice of seat "
        "1, the payoffs of both. The match ends after `rounds` rounds. With `go_on`, each round is followed by another "
        "only with that probability. With `noise`, each choice changes to another with that probability, and neither "
        "seat learns what the other had chosen. The result is the sum of the payoffs."
    ),
    "kuhn": (
        "Poker with three cards, J, Q and K. In each hand both seats pay 1 and get a card that the other does not see. "
        "Then they bet: check or bet 1; after a bet, fold or call. The higher card wins the pot, or the seat that did "
        "not fold. The seats take turns at moving first. The result is the sum of chips over all `hands`."
    ),
    "leduc": (
        "Poker with six cards, two each of J, Q and K. In each hand both seats pay 1, get a card that the other does "
        "not see, and bet. Then a public card is dealt, and they bet again. A bet or raise is 2 in the first round and "
        "4 in the second, at most two in each round. A pair with the public card wins, otherwise the higher card. "
        "Equal cards split the pot. The seats take turns at moving first. The result is the sum of chips over all "
        "`hands`."
    ),
}
"""The rules of each game as text, by the game's name."""
