/** States of games whose events tell spectators all they may see, in wire format and without dice. Pure. */

import { LETTERS, STAKES, UNDEALT_HAND } from "../board/rounds.js";

/** @type {Record<string, {first: () => object, after: (config: object, before: object, event: object) => object}>} */
export const STATE_BUILDERS = {
  dilemma: {
    first: () => ({ payoffs: [0, 0], last: null, to_move: [0, 1], ply: 0 }),
    after: ({ rounds }, { payoffs, ply }, { moves, result }) => ({
      payoffs: payoffs.map((sum, seat) => sum + result.payoffs[seat]),
      last: result.played ?? moves.map(({ choose }) => choose),
      to_move: ply + 1 === rounds ? null : [0, 1],
      ply: ply + 1,
    }),
  },
  kuhn: poker("kuhn"),
  leduc: poker("leduc"),
};

function poker(game) {
  return {
    first: () => ({ hand: 0, chips: [0, 0], ...UNDEALT_HAND, ply: 0 }),
    after(config, before, { seat, move, result }) {
      const ply = before.ply + 1;
      if (seat < 0) return { ...before, ...move, to_move: before.hand % 2, ply };
      if (result) return handOver(config, before, result, ply);
      const bets = [...before.bets.slice(0, -1), before.bets.at(-1) + letterOf(move.do)];
      const most = Math.max(...before.paid);
      const more = move.do === "bet" || move.do === "raise" ? STAKES[game][bets.length - 1] : 0;
      const paid = before.paid.with(seat, most + more);
      const isClosed = move.do === "call" || bets.at(-1) === "kk";
      return { ...before, bets: isClosed ? [...bets, ""] : bets, paid, to_move: isClosed ? -1 : 1 - seat, ply };
    },
  };
}

function handOver({ hands }, { hand, chips }, { won, chips: lost }, ply) {
  const sums = chips.map((sum, seat) => (won === null ? sum : sum + (seat === won ? lost : -lost)));
  return { hand: hand + 1, chips: sums, ...UNDEALT_HAND, to_move: hand + 1 === hands ? null : -1, ply };
}

function letterOf(name) {
  return Object.keys(LETTERS).find((letter) => LETTERS[letter] === name);
}
