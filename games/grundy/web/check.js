/** The rules of Grundy's game. */

export default ({ demand, demandFields, isPlace, replaced, wonBy }) => {
  /** @param {{heaps: number[]}} config */
  function grundy(config) {
    const state = (heaps, ply) => ({ heaps, to_move: Math.max(...heaps) > 2 ? ply % 2 : null, ply });

    return {
      seats: 2,
      async start() {
        return { state: state(config.heaps, 0) };
      },
      async play({ heaps, ply }, move) {
        demandFields(move, "heap", "split");
        const { heap, split } = move;
        demand(isPlace(heap, heaps.length), `heaps are 0 to ${heaps.length - 1}`);
        const size = heaps[heap];
        const most = Math.floor((size - 1) / 2);
        demand(split >= 1 && isPlace(split, most + 1), `the smaller part of a heap of ${size} is 1 to ${most}`);
        return {
          state: state([...replaced(heaps, heap, split), size - split], ply + 1),
          event: { ply, seat: ply % 2, move: { heap, split } },
        };
      },
      ranks: ({ ply }) => wonBy(1 - (ply % 2)),
      reason: () => "win",
    };
  }

  return grundy;
};
