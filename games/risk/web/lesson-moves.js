/** Moves that a learner may try. Pure. */

/**
 * Return all moves that may be legal in a state: in the campaign, attacks with all units, and drafts on a single territory.
 * @param {{troops: number[], units?: number}} state
 * @returns {object[]}
 */
export function movesOf({ troops, units }) {
  const places = [...troops.keys()];
  const moves = places.flatMap((at) => [
    { do: "invade", to: at },
    { do: "reinforce", at },
    { do: "draft", units: [[at, units]] },
    ...places.flatMap((to) => [{ do: "attack", from: at, to }, { do: "attack", from: at, to, units: troops[at] - 1 }]),
  ]);
  return [...moves, { do: "end" }];
}
