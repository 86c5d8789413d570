/** Five moves that teach the duel, from the first invasion to a won match. */

import { movesOf } from "./lesson-moves.js";

const [VENEZUELA, PERU, BRAZIL, ARGENTINA] = [0, 1, 2, 3];

export default () => ({
  candidates: movesOf,
  steps: [
    {
      say: "All territories are free. You take a free territory by pressing it. Press Brazil: it borders all the others, so you can attack everything from there.",
      hint: "Press Brazil, on the right of the map.",
      move: { do: "invade", to: BRAZIL },
      came: "Brazil is yours, with 3 troops.",
      answer: { moves: [{ do: "invade", to: PERU }], came: "Ada invades Peru." },
    },
    {
      say: "While a territory is free, every turn is an invasion. Press Venezuela, so that Ada gets no more than half of the continent.",
      hint: "Press Venezuela, at the top of the map.",
      move: { do: "invade", to: VENEZUELA },
      came: "Venezuela is yours too.",
      answer: { moves: [{ do: "invade", to: ARGENTINA }], came: "Ada invades Argentina. No territory is free now." },
    },
    {
      say: "From now on a turn is one action: reinforce or attack. Press Brazil, then the button Reinforce Brazil: with 2 more troops it can afford an attack that fails.",
      hint: "Press Brazil, then the button Reinforce Brazil.",
      move: { do: "reinforce", at: BRAZIL },
      came: "Brazil has 5 troops.",
      answer: { moves: [{ do: "reinforce", at: ARGENTINA }], came: "Ada reinforces Argentina, which has 5 troops too." },
    },
    {
      say: "An attack is one throw of the dice, which takes the territory 42 times in 100. If it fails, you lose as many troops as the defender has there. Press Brazil, then Attack Peru: that risks 3 troops. Against Argentina you would risk 5.",
      hint: "Press Brazil, then the button Attack Peru.",
      move: { do: "attack", from: BRAZIL, to: PERU },
      dice: [[6], [3]],
      came: "Your 6 beats the 3: Peru is yours, with 1 troop.",
      answer: {
        moves: [{ do: "attack", from: ARGENTINA, to: PERU }],
        dice: [[2], [4]],
        came: "Ada attacks Peru from Argentina, and 2 does not beat 4: Argentina loses 1 troop, as many as Peru has.",
      },
    },
    {
      say: "Ada has only Argentina left, with 4 troops, and Brazil has 5: an attacker needs at least as many troops as the defender. Press Brazil, then Attack Argentina: the player who owns everything wins.",
      hint: "Press Brazil, then the button Attack Argentina.",
      move: { do: "attack", from: BRAZIL, to: ARGENTINA },
      dice: [[5], [4]],
      came: "5 beats 4: all of South America is yours. You have won.",
    },
  ],
});
