"""The rules of each game in a paragraph, for beginners; docs/rules.md has the full rules."""

from __future__ import annotations

from collections.abc import Mapping

GAME_RULES: Mapping[str, str] = {
    "nim": (
        "There are heaps of counters. In turn, a seat takes counters from one heap, at least one, or as many as `take` "
        "of the config allows. Who can't move loses; with `misere`, who can't move wins. Heaps count from 0."
    ),
    "grundy": (
        "There are heaps of counters. In turn, a seat splits one heap into two of different sizes, both at least 1; "
        "heaps of 1 and 2 can't be split. Who can't move loses. Heaps count from 0; the smaller part stays in the "
        "heap's place, the other goes to the end."
    ),
    "tictactoe": (
        "On a board of three by three, in turn, a seat puts its mark (X is seat 0, O is seat 1) in an empty cell. "
        "Three in a row, a column or a diagonal win; a full board without that is a draw. Cells are numbered row by "
        "row: 0 1 2 is the first row, 4 the middle."
    ),
    "risk-duel": (
        "Two seats fight for one continent; who owns every territory wins, and after `max_plies` actions it is a draw. "
        "A turn is one action. While any territory is free, the seat to move has to invade a free one, wherever it is: "
        "it gets 3 troops, with `armies` the first invasions as many as that lists. When none is free, it reinforces "
        "one of its own (2 more troops, up to `max_troops`) or attacks, across a border, an enemy's territory that "
        "holds no more troops than its own. An attack is one die each: if the attacker's is higher (15 of 36), the "
        "territory is the attacker's, with 1 troop, and the other stays as it was; else (21 of 36) the attacking "
        "territory loses as many troops as the attacked one holds, "
        "and with none left it is free, to be invaded next."
    ),
    "risk-campaign": (
        "Two to six seats fight for a map; the last one in the game wins, or after `max_rounds` the one with most "
        "territories, then most units. A turn is a draft, then attacks. The draft places all new units on territories "
        "of one's own: one a territory, or with `draft` classic a third of them, at least 3, and the bonus of every "
        "continent that is all one's own. Then up to `max_attacks` attacks, each from a territory of one's own to an "
        "enemy's next to it, with 1 unit or more, while at least 1 stays behind; they are fought until one side is "
        "gone. With `battle` dice, of at most 3 dice against 2 the highest are compared, and the second highest where "
        "both threw two; the lower side loses a unit, the defender wins ties. With deterministic, more attackers than "
        "defenders take the territory. All attackers that are left move in. `end` ends the turn early. The seats "
        "follow each other from 0; with `turn_order` snake every other round goes from the last seat to the first, so "
        "that who ends a round begins the next. With `first_draft` the first draft has so many units."
    ),
    "dilemma": (
        "Two seats choose at once, again and again, none knowing the other's choice. `payoffs` of the config has, "
        "for each choice of seat 0, a row with, for each of seat 1, what both are paid; `choices` names them. It "
        "ends after `rounds`, or with `go_on` after each round another follows with that chance. With `noise` a "
        "choice is changed to another with that chance, and nobody is told what the other meant. What counts is what "
        "is paid in all."
    ),
    "kuhn": (
        "Poker with three cards, J, Q and K. In each hand both seats pay 1, get a card that the other does not see, "
        "and bet: check or bet 1; after a bet, fold or call. The higher card takes the pot, or who did not fold. The "
        "seats take turns at moving first. Chips of all `hands` are summed."
    ),
    "leduc": (
        "Poker with six cards, two each of J, Q and K. In each hand both seats pay 1, get a card that the other does "
        "not see, and bet; then a public card is dealt, and they bet again. A bet or raise is 2 in the first round "
        "and 4 in the second, at most two in each. A pair with the public card wins, else the higher card; of equal "
        "ones each keeps what it paid. The seats take turns at moving first. Chips of all `hands` are summed."
    ),
}
