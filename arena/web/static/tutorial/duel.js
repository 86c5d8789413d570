/** Five moves that teach the duel, from the first invasion to a won match. */

const [VENEZUELA, PERU, BRAZIL, ARGENTINA] = [0, 1, 2, 3];

/** @type {import("./lesson.js").Script} */
export const DUEL = {
  opening: {},
  steps: [
    {
      say: "Nothing belongs to anybody yet, and a free territory is taken by pressing it. Press Brazil: it borders on all the others, so everything can be attacked from there.",
      hint: "Press Brazil, on the right of the map.",
      move: { do: "invade", to: BRAZIL },
      came: "Brazil is yours, with 3 troops.",
      answer: { moves: [{ do: "invade", to: PERU }], came: "Ada invades Peru." },
    },
    {
      say: "While a territory is free, every turn is an invasion. Press Venezuela, so that Ada gets no more than half of the continent.",
      hint: "Press Venezuela, at the top of the map.",
      move: { do: "invade", to: VENEZUELA },
      came: "Venezuela is yours, too.",
      answer: { moves: [{ do: "invade", to: ARGENTINA }], came: "Ada invades Argentina. Nothing is free any more." },
    },
    {
      say: "From now on a turn is one action: reinforce or attack. Press Brazil, then the button Reinforce Brazil: with 2 more troops it can afford an attack that fails.",
      hint: "Press Brazil, then the button Reinforce Brazil.",
      move: { do: "reinforce", at: BRAZIL },
      came: "Brazil has 5 troops.",
      answer: { moves: [{ do: "reinforce", at: ARGENTINA }], came: "Ada reinforces Argentina: 5 troops there, too." },
    },
    {
      say: "An attack is one throw of dice that takes the territory 42 times in 100; if it fails, you lose as many troops as stand there. Press Brazil, then Attack Peru: that risks 3 troops, where Argentina would risk 5.",
      hint: "Press Brazil, then the button Attack Peru.",
      move: { do: "attack", from: BRAZIL, to: PERU },
      dice: [[6], [3]],
      came: "Your 6 beats the 3: Peru is yours, with 1 troop.",
      answer: {
        moves: [{ do: "attack", from: ARGENTINA, to: PERU }],
        dice: [[2], [4]],
        came: "Ada attacks Peru from Argentina, and 2 does not beat 4: that costs Argentina 1 troop, as many as stand in Peru.",
      },
    },
    {
      say: "Argentina with 4 troops is all that Ada has left, and Brazil has 5: an attack needs at least as many as it meets. Press Brazil, then Attack Argentina: who owns everything wins.",
      hint: "Press Brazil, then the button Attack Argentina.",
      move: { do: "attack", from: BRAZIL, to: ARGENTINA },
      dice: [[5], [4]],
      came: "5 beats 4: all of South America is yours. You have won.",
    },
  ],
};
