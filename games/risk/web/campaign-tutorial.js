/** Five moves that teach the campaign: two turns, a battle won, one avoided, and a match won. */

import { movesOf } from "./lesson-moves.js";

const [PERU, BRAZIL, ARGENTINA] = [1, 2, 3];

export default () => ({
  deal: { owner: [0, 1, 0, 1] },
  candidates: movesOf,
  steps: [
    {
      say: "A turn begins with new units: you have 3. Press Brazil three times, then Place them. One strong army takes territories; three weak ones take none.",
      hint: "Press Brazil until all 3 units are there, then Place them.",
      move: { do: "draft", units: [[BRAZIL, 3]] },
      came: "Brazil has 5 units.",
    },
    {
      say: "Units attack together until one side is gone. The button shows your chance to win. Press Brazil, choose Attack Peru, and send all 4: three dice against two are the best possible odds.",
      hint: "Press Brazil, then Attack Peru, and press that again with 4 units.",
      move: { do: "attack", from: BRAZIL, to: PERU, units: 4 },
      dice: [[6, 3, 1], [5, 4], [5, 3, 2], [4]],
      came: "After two rounds Peru is yours, and the 3 units left moved in.",
    },
    {
      say: "You may attack twice more. But 2 units win against Argentina's 2 only 36 times in 100, and Peru needs them for its defence. Press End the turn.",
      hint: "Press the button End the turn.",
      move: { do: "end" },
      came: "Your turn is over.",
      answer: {
        moves: [
          { do: "draft", units: [[ARGENTINA, 3]] },
          { do: "attack", from: ARGENTINA, to: PERU, units: 4 },
          { do: "end" },
        ],
        dice: [[3, 2, 1], [5, 4], [6, 2], [4, 3], [3], [5, 2]],
        came: "Ada places 3 units on Argentina and attacks Peru with 4, a chance of 64 %. The attack fails: all 4 are gone, and 2 of your units hold Peru.",
      },
    },
    {
      say: "You have 3 new units, and Argentina has only 1. Press Peru three times, then Place them: units help most where you attack next.",
      hint: "Press Peru until all 3 units are there, then Place them.",
      move: { do: "draft", units: [[PERU, 3]] },
      came: "Peru has 5 units.",
    },
    {
      say: "4 units win against 1 in 97 of 100 cases. Press Peru, choose Attack Argentina, and send all 4: a player without territories is out, and the last player left wins.",
      hint: "Press Peru, then Attack Argentina, and press that again with 4 units.",
      move: { do: "attack", from: PERU, to: ARGENTINA, units: 4 },
      dice: [[6, 4, 2], [3]],
      came: "6 beats 3: Ada has nothing left and is out. You have won.",
    },
  ],
});
