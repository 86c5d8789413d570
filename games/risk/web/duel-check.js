/** The rules of the duel: Risk for two seats with one action per turn. */

import { isBorder } from "./territories.js";

export default ({ demand, demandFields, isPlace, replaced, wonBy }) => {
  const NO_OWNER = -1;
  const ARMY = 3;
  const REINFORCEMENT = 2;
  const FIELDS = { invade: ["to"], reinforce: ["at"], attack: ["from", "to"] };

  /** @param {{map: object, max_troops: number, max_plies: number, armies?: number[]}} config */
  function duel({ map, max_troops, max_plies, armies = [] }) {
    const count = map.territories.length;
    const winner = ({ owner }) => (owner[0] !== NO_OWNER && owner.every((held) => held === owner[0]) ? owner[0] : null);
    const state = (owner, troops, ply) => {
      const over = ply >= max_plies || winner({ owner }) !== null;
      return { owner, troops, to_move: over ? null : ply % 2, ply };
    };
    const withTerritory = ({ owner, troops, ply }, at, seat, number) =>
      state(replaced(owner, at, seat), replaced(troops, at, number), ply + 1);

    async function attack(before, { from, to }, dice) {
      const seat = before.to_move;
      const [attacker, defender] = await dice.throw("attack", 2);
      const taken = attacker > defender;
      const left = before.troops[from] - before.troops[to];
      const chance = { dice: [[attacker], [defender]], result: { taken } };
      return {
        state: taken ? withTerritory(before, to, seat, 1) : withTerritory(before, from, left ? seat : NO_OWNER, left),
        event: { ply: before.ply, seat, move: { do: "attack", from, to }, ...chance },
      };
    }

    return {
      seats: 2,
      told: (choice) => `${choice.number} mod 6 + 1 = ${choice.choice + 1}`,
      async start() {
        return { state: state(new Array(count).fill(NO_OWNER), new Array(count).fill(0), 0) };
      },
      async play(before, move, dice) {
        check(before, move, { map, max_troops, count });
        if (move.do === "attack") return attack(before, move, dice);
        const seat = before.to_move;
        const event = { ply: before.ply, seat, move };
        if (move.do === "invade") {
          const invasion = before.owner.filter((held) => held !== NO_OWNER).length;
          return { state: withTerritory(before, move.to, seat, armies[invasion] ?? ARMY), event };
        }
        const number = Math.min(before.troops[move.at] + REINFORCEMENT, max_troops);
        return { state: withTerritory(before, move.at, seat, number), event };
      },
      ranks: (after) => (winner(after) === null ? [1, 1] : wonBy(winner(after))),
      reason: (after) => (winner(after) === null ? "ply_limit" : "win"),
    };
  }

  function check({ owner, troops, to_move: seat }, move, { map, max_troops, count }) {
    demand(Object.hasOwn(FIELDS, move?.do), "do must be invade, reinforce or attack");
    const fields = FIELDS[move.do];
    demandFields(move, "do", ...fields);
    for (const field of fields) demand(isPlace(move[field], count), `territories are 0 to ${count - 1}`);
    if (move.do === "invade") {
      demand(owner[move.to] === NO_OWNER, `territory ${move.to} is not free`);
      return;
    }
    demand(!owner.includes(NO_OWNER), "free territories must be invaded first");
    if (move.do === "reinforce") {
      demand(owner[move.at] === seat, `territory ${move.at} is not seat ${seat}'s`);
      demand(troops[move.at] < max_troops, `territory ${move.at} has the maximum of ${max_troops} troops`);
      return;
    }
    const { from, to } = move;
    demand(owner[from] === seat, `territory ${from} is not seat ${seat}'s`);
    demand(owner[to] !== seat, `territory ${to} is seat ${seat}'s own`);
    demand(isBorder(map, from, to), `territories ${from} and ${to} have no border`);
    demand(troops[from] >= troops[to], `${troops[from]} troops cannot attack ${troops[to]}`);
  }

  return duel;
};
