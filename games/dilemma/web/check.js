/** The rules of the dilemma, in which both seats choose at the same time. */

export default ({ demand, demandFields, isPlace, ranksOf }) => {
  const PROBABILITY_PARTS = 10_000; // a probability is a whole number of these parts

  /** @param {{payoffs: number[][][], choices: string[][], rounds: number, go_on: string | null, noise: string}} config */
  function dilemma(config) {
    const { payoffs, choices, rounds } = config;
    const noise = partsOf(config.noise);
    const goOn = config.go_on === null ? null : partsOf(config.go_on);

    const first = () => ({ payoffs: [0, 0], last: null, to_move: [0, 1], ply: 0 });

    /** Return what is played for a choice: with noise, perhaps another one. */
    async function disturbed(choice, seat, dice) {
      const purpose = `noise-${seat}`;
      if (!noise || (await dice.choice(purpose, PROBABILITY_PARTS)) >= noise) return choice;
      const other = await dice.choice(purpose, choices[seat].length - 1);
      return other + (other >= choice ? 1 : 0);
    }

    return {
      seats: 2,
      hidden: noise > 0,
      told(choice, purpose) {
        const drawn = `${choice.number} mod ${choice.among} = ${choice.choice}`;
        if (purpose === "end") return `${drawn}: ${choice.choice < goOn ? "it goes on" : "this was the last round"}`;
        if (choice.among !== PROBABILITY_PARTS) return `${drawn}: to which other choice`;
        return `${drawn}: the choice ${choice.choice < noise ? "is changed" : "stands"}`;
      },
      async start() {
        return { state: first() };
      },
      checkMove(state, seat, move) {
        demandFields(move, "choose");
        demand(isPlace(move.choose, choices[seat].length), `choices are 0 to ${choices[seat].length - 1}`);
      },
      async resolve({ payoffs: before, ply }, moves, dice) {
        const played = [await disturbed(moves[0].choose, 0, dice), await disturbed(moves[1].choose, 1, dice)];
        const got = payoffs[played[0]][played[1]];
        const isLast = ply + 1 === rounds || (goOn !== null && (await dice.choice("end", PROBABILITY_PARTS)) >= goOn);
        const sums = before.map((sum, seat) => sum + got[seat]);
        return {
          state: { payoffs: sums, last: played, to_move: isLast ? null : [0, 1], ply: ply + 1 },
          event: { ply, seat: -1, moves, result: noise ? { payoffs: got, played } : { payoffs: got } },
        };
      },
      spectated: {
        first,
        after: ({ payoffs: before, ply }, { moves, result }) => ({
          payoffs: before.map((sum, seat) => sum + result.payoffs[seat]),
          last: result.played ?? moves.map(({ choose }) => choose),
          to_move: ply + 1 === rounds ? null : [0, 1],
          ply: ply + 1,
        }),
      },
      ranks: ({ payoffs: sums }) => ranksOf(sums),
      reason: ({ payoffs: [one, two] }) => (one === two ? "draw" : "win"),
      payoffs: {
        returns: ({ payoffs: sums }) => sums,
        rounds({ ply, to_move }) {
          const left = to_move === null ? 0 : rounds - ply;
          if (goOn === null) return [ply, left];
          const ends = PROBABILITY_PARTS - goOn;
          return [ply, Math.min(left, Math.floor((2 * PROBABILITY_PARTS + ends) / (2 * ends)))];
        },
        least: [0, 1].map((seat) => Math.min(...payoffs.flat().map((pair) => pair[seat]))),
      },
    };
  }

  /** Convert a probability with up to four decimals to whole parts. */
  function partsOf(chance) {
    return Math.round(Number(chance) * PROBABILITY_PARTS);
  }

  return dilemma;
};
