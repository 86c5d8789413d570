/** The rules of two-player poker with a small deck: Kuhn's and Leduc's. */

/**
 * What differs: cards per rank; the bet size in each betting round, before each of which but the first a public card is
 * dealt; the maximum of bets and raises in a round.
 */
const TABLES = {
  kuhn: { alike: 1, stakes: [1], mostBets: 1 },
  leduc: { alike: 2, stakes: [2, 4], mostBets: 2 },
};

export default ({ demand, demandFields, ranksOf, replaced }, game) => {
  const ANTE = 1;
  const RANKS = 3;
  const LETTERS = { fold: "f", check: "k", call: "c", bet: "b", raise: "r" };
  const UNDEALT = { cards: null, public: null, bets: [""], paid: [ANTE, ANTE] };

  const { alike, stakes, mostBets } = TABLES[game];

  /** @param {{hands: number}} config */
  function poker({ hands }) {
    const rankOf = (card) => Math.floor(card / alike);
    const first = ({ hand }) => hand % 2;

    async function chance(before, dice) {
      const { cards, ply } = before;
      let move;
      if (cards === null) {
        move = { cards: (await dice.shuffle("deal", RANKS * alike)).slice(0, 2) };
      } else {
        const left = Array.from({ length: RANKS * alike }, (_, card) => card).filter((card) => !cards.includes(card));
        move = { public: left[await dice.choice("deal", left.length)] };
      }
      return { state: { ...before, ...move, to_move: first(before), ply: ply + 1 }, event: { ply, seat: -1, move } };
    }

    /** Return the state after an event, as spectators may see it. */
    function after(before, { seat, move, result }) {
      const ply = before.ply + 1;
      if (seat < 0) return { ...before, ...move, to_move: first(before), ply };
      if (result) return nextHand(before, result, ply);
      const bets = [...before.bets.slice(0, -1), before.bets.at(-1) + LETTERS[move.do]];
      const more = move.do === "bet" || move.do === "raise" ? stakes[bets.length - 1] : 0;
      const paid = replaced(before.paid, seat, Math.max(...before.paid) + more);
      const isClosed = move.do === "call" || bets.at(-1) === "kk";
      return { ...before, bets: isClosed ? [...bets, ""] : bets, paid, to_move: isClosed ? -1 : 1 - seat, ply };
    }

    /** Return the state before the deal of the next hand, after this one had a result. */
    function nextHand({ hand, chips }, { won, chips: lost }, ply) {
      const sums = chips.map((sum, seat) => (won === null ? sum : sum + (seat === won ? lost : -lost)));
      return { hand: hand + 1, chips: sums, ...UNDEALT, to_move: hand + 1 === hands ? null : -1, ply };
    }

    /** Return who wins the showdown: a pair with the public card, else the higher card; null for a tie. */
    function best({ cards, public: shown }) {
      const [one, two] = cards.map((card) => rankOf(card) + (shown !== null && rankOf(card) === rankOf(shown) ? RANKS : 0));
      return one === two ? null : Number(two > one);
    }

    function legalMoves({ bets, paid }) {
      const made = [...bets.at(-1)].filter((letter) => "br".includes(letter)).length;
      const owes = paid[0] !== paid[1];
      const more = made === mostBets ? [] : [owes ? "raise" : "bet"];
      return [...(owes ? ["fold", "call"] : ["check"]), ...more];
    }

    async function play(before, move) {
      demandFields(move, "do");
      const legal = legalMoves(before);
      demand(legal.includes(move.do), `legal moves are ${legal.join(" or ")}`);
      const { cards, paid, ply, to_move: seat } = before;
      const event = { ply, seat, move: { do: move.do } };
      if (move.do === "fold") {
        const result = { won: 1 - seat, chips: paid[seat] };
        return { state: nextHand(before, result, ply + 1), event: { ...event, result } };
      }
      const made = before.bets.at(-1) + LETTERS[move.do];
      const bets = [...before.bets.slice(0, -1), made];
      const raises = move.do === "bet" || move.do === "raise";
      const pays = Math.max(...paid) + (raises ? stakes[bets.length - 1] : 0);
      const after = { ...before, bets, paid: replaced(paid, seat, pays), to_move: 1 - seat, ply: ply + 1 };
      if (raises || made === LETTERS.check) return { state: after, event };
      if (bets.length < stakes.length) return { state: { ...after, bets: [...bets, ""], to_move: -1 }, event };
      const won = best(before);
      const result = { won, chips: won === null ? 0 : after.paid[1 - won], cards };
      return { state: nextHand(before, result, ply + 1), event: { ...event, result } };
    }

    const most = ANTE + mostBets * stakes.reduce((sum, stake) => sum + stake);
    return {
      seats: 2,
      hidden: true,
      told: ({ number, among, choice }) => `${number} mod ${among} = ${choice}`,
      async start(dice) {
        const { state, event } = await chance({ hand: 0, chips: [0, 0], ...UNDEALT, to_move: -1, ply: 0 }, dice);
        return { state, deal: event };
      },
      chance,
      play,
      spectated: { first: () => ({ hand: 0, chips: [0, 0], ...UNDEALT, to_move: -1, ply: 0 }), after },
      ranks: ({ chips }) => ranksOf(chips),
      reason: ({ chips: [one, two] }) => (one === two ? "draw" : "win"),
      payoffs: {
        returns: ({ chips }) => chips,
        rounds: ({ hand }) => [hand, hands - hand],
        least: [-most, -most],
      },
    };
  }

  return poker;
};
