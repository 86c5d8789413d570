/** What the events of a match of rounds, or of hands, tell of them. Pure. */

export const ANTE = 1;
/** What a bet or a raise is in each round of betting, by game. */
export const STAKES = { kuhn: [1], leduc: [2, 4] };
/** Moves of poker by their letter in `bets`. */
export const LETTERS = { f: "fold", k: "check", c: "call", b: "bet", r: "raise" };

/** What a hand has on the table before its cards are dealt. */
export const UNDEALT = { cards: null, public: null, bets: [""], paid: [ANTE, ANTE], to_move: -1 };

const LONGEST = 2; // characters of a mark

/**
 * The rounds that events tell.
 * @param {object[]} events
 * @returns {{number: number, chosen: (number | null)[], played: number[], payoffs: number[]}[]} `chosen` is null where it is not told
 */
export function playedIn(events) {
  return events
    .filter(({ moves, result }) => moves && result)
    .map(({ ply, moves, result }) => {
      const chosen = moves.map((move) => move?.choose ?? null);
      return { number: ply + 1, chosen, played: result.played ?? chosen, payoffs: result.payoffs };
    });
}

/**
 * @typedef {object} Hand
 * @property {number} number from 1
 * @property {number} first the seat that moved first
 * @property {(number | null)[]} cards by seat; null where it is not told
 * @property {number | null} public
 * @property {{seat: number, move: string}[][]} bets by round of betting
 * @property {{won: number | null, chips: number, cards?: number[]} | null} result null while it is played
 */

/**
 * The hands of poker that events tell, the last as far as it is played.
 * @param {object[]} events the first may be in the midst of a hand, which is left out then
 * @param {number} over hands that are over after the last event
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
 * The events that lead to the state of a hand that is played, from its deal on.
 * @param {{hand: number, cards: (number | null)[], public: number | null, bets: string[]}} state
 * @returns {{seat: number, move: object}[]}
 */
export function eventsOfHand({ hand, cards, public: up, bets }) {
  const rounds = bets.map((made) => [...made].map((letter, at) => ({ seat: (hand + at) % 2, move: { do: LETTERS[letter] } })));
  return [{ seat: -1, move: { cards } }, ...rounds.flatMap((made, at) => (at === 0 ? made : [{ seat: -1, move: { public: up } }, ...made]))];
}

/**
 * Short marks for names, all different: their first letters where these are, else their numbers.
 * @param {string[]} names
 * @returns {string[]}
 */
export function abbreviations(names) {
  for (let length = 1; length <= LONGEST; length++) {
    const short = names.map((name) => name.slice(0, 1).toUpperCase() + name.slice(1, length));
    if (new Set(short.map((text) => text.toLowerCase())).size === names.length) return short;
  }
  return names.map((_, at) => String(at + 1));
}

/**
 * A number with a sign as it is printed, at most two decimals.
 * @param {number} number
 */
export function numberText(number) {
  return number.toLocaleString("en", { maximumFractionDigits: 2 }).replace("-", "−");
}

/**
 * A number with its sign always: "+2", "−2", "0".
 * @param {number} number
 */
export function signedText(number) {
  return number > 0 ? `+${numberText(number)}` : numberText(number);
}
