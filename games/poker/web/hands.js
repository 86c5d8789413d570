/** The hands of a match. Pure. */

export const ANTE = 1;
/** The size of a bet or raise in each betting round, by game. */
export const STAKES = { kuhn: [1], leduc: [2, 4] };
/** Poker moves by their letters in `bets`. */
export const LETTERS = { f: "fold", k: "check", c: "call", b: "bet", r: "raise" };

/** The part of a state that describes a hand before its cards are dealt. */
export const UNDEALT_HAND = { cards: null, public: null, bets: [""], paid: [ANTE, ANTE], to_move: -1 };

/**
 * @typedef {object} Hand
 * @property {number} number from 1
 * @property {number} first the seat that moved first
 * @property {(number | null)[]} cards by seat; null if unknown
 * @property {number | null} public
 * @property {{seat: number, move: string}[][]} bets by betting round
 * @property {{won: number | null, chips: number, cards?: number[]} | null} result null while the hand is played
 */

/**
 * Return the poker hands that the events contain; the last one may be unfinished.
 * @param {object[]} events if they begin in the middle of a hand, that hand is left out
 * @param {number} over the number of hands finished after the last event
 * @returns {Hand[]}
 */
export function handsIn(events, over) {
  const hands = [];
  let hand = null;
  for (const { seat, move, result } of events) {
    if (move?.cards) {
      hand = { cards: move.cards, public: null, bets: [[]], result: null };
      hands.push(hand);
    } else if (hand !== null && move?.public !== undefined) {
      hand.public = move.public;
      hand.bets.push([]);
    } else if (hand !== null && move?.do) {
      hand.bets.at(-1).push({ seat, move: move.do });
      if (result) Object.assign(hand, { result, cards: result.cards ?? hand.cards });
    }
  }
  const last = hands.at(-1)?.result === null ? over : over - 1;
  return hands.map((each, at) => {
    const before = last - (hands.length - 1 - at);
    return { number: before + 1, first: before % 2, ...each };
  });
}

/**
 * Return the events of the current hand, from the deal to this state.
 * @param {{hand: number, cards: (number | null)[], public: number | null, bets: string[]}} state
 * @returns {{seat: number, move: object}[]}
 */
export function eventsOfHand({ hand, cards, public: up, bets }) {
  const rounds = bets.map((made) => [...made].map((letter, at) => ({ seat: (hand + at) % 2, move: { do: LETTERS[letter] } })));
  return [{ seat: -1, move: { cards } }, ...rounds.flatMap((made, at) => (at === 0 ? made : [{ seat: -1, move: { public: up } }, ...made]))];
}
