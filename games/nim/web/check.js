/** The rules of nim, its deal, and as much theory as the deal needs. */

export default ({ demand, demandFields, isPlace, replaced, wonBy }) => {
  const MAX_DRAWS = 20000;

  /** @param {{heaps: number[], take: number[] | null, misere: boolean, start: string}} config */
  function nim(config) {
    const least = config.take?.[0] ?? 1;
    const dealt = config.start === "p-position";
    const canMove = (heaps) => Math.max(...heaps) >= least;
    const seatAt = (ply) => (ply - (dealt ? 1 : 0)) % 2;
    const state = (heaps, ply) => ({ heaps, to_move: canMove(heaps) ? seatAt(ply) : null, ply });

    return {
      seats: 2,
      told: (choice) => `${choice.number} mod ${choice.among} = ${choice.choice} in a heap`,
      async start(dice) {
        if (!dealt) return { state: state(config.heaps, 0) };
        const heaps = await deal(config, dice);
        return { state: state(heaps, 1), deal: { ply: 0, seat: -1, move: { heaps } } };
      },
      async play({ heaps, ply }, move) {
        demandFields(move, "heap", "take");
        const { heap, take } = move;
        demand(isPlace(heap, heaps.length), `heaps are 0 to ${heaps.length - 1}`);
        const allowed = config.take?.join(" or ") ?? "1 or more";
        demand(take >= 1 && (config.take ?? [take]).includes(take), `a move must take ${allowed}`);
        demand(isPlace(take, heaps[heap] + 1), `heap ${heap} holds ${heaps[heap]}`);
        return {
          state: state(replaced(heaps, heap, heaps[heap] - take), ply + 1),
          event: { ply, seat: seatAt(ply), move: { heap, take } },
        };
      },
      dealt: ({ heaps }) => state(heaps, 1),
      ranks: ({ ply }) => wonBy(config.misere ? seatAt(ply) : 1 - seatAt(ply)),
      reason: () => "win",
    };
  }

  /** Draw heaps until the seat to move would lose and has a move. */
  async function deal({ heaps: sizes, take, misere }, dice) {
    const values = grundyValues(take, Math.max(...sizes) + 1);
    const least = take?.[0] ?? 1;
    for (let draw = 0; draw < MAX_DRAWS; draw++) {
      if (draw > 0) dice.restart("deal");
      const heaps = [];
      for (const size of sizes) heaps.push(await dice.choice("deal", size + 1));
      const worth = heaps.map((heap) => values[heap]);
      const wanted = misere && Math.max(...worth) < 2 ? 1 : 0;
      if (worth.reduce((sum, value) => sum ^ value, 0) === wanted && Math.max(...heaps) >= least) return heaps;
    }
    return leastLost(sizes, values, least, misere);
  }

  /** Return the deal if no draw succeeds: the smallest lost position with a move. */
  function leastLost(sizes, values, least, misere) {
    const large = sizes.flatMap((size, heap) => (size >= least ? [heap] : []));
    const needed = misere ? 1 : 2;
    if (large.length >= needed) {
      return sizes.map((_, heap) => (large.slice(0, needed).includes(heap) ? least : 0));
    }
    let size = least;
    while (values[size] !== 0) size += 1;
    return sizes.map((_, heap) => (heap === large[0] ? size : 0));
  }

  /** Return the Grundy values of heaps below `count`: the smallest value that no move leads to. */
  function grundyValues(take, count) {
    if (take === null) return Array.from({ length: count }, (_, size) => size);
    const values = [];
    for (let size = 0; size < count; size++) {
      const reached = new Set(take.filter((taken) => taken <= size).map((taken) => values[size - taken]));
      let value = 0;
      while (reached.has(value)) value += 1;
      values.push(value);
    }
    return values;
  }

  return nim;
};
