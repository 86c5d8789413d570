// The rules of the games by name, for refereeing records again. They behave like protocol/games.

import { Campaign } from "./campaign.js";
import { dilemma } from "./dilemma.js";
import { duel } from "./duel.js";
import { grundy } from "./grundy.js";
import { nim } from "./nim.js";
import { kuhn, leduc } from "./poker.js";
import { tictactoe } from "./tictactoe.js";

/**
 * @typedef {object} Rules a game under one config; its states have the wire format, possibly with more fields
 * @property {number} seats
 * @property {boolean} [hidden] whether the game has hidden information, so that its digests are salted
 * @property {(choice: import("../dice.js").Choice, purpose: string) => string} [told] returns the meaning of a choice
 * @property {(dice: import("../dice.js").Dice) => Promise<{state: object, deal?: object}>} start
 * @property {(state: object, move: unknown, dice: import("../dice.js").Dice) => Promise<{state: object, event: object}>} [play]
 *   throws IllegalMove; missing if all moves are simultaneous
 * @property {(state: object, seat: number, move: unknown) => void} [checkMove] checks a simultaneous move; throws IllegalMove
 * @property {(state: object, moves: object[], dice: import("../dice.js").Dice) => Promise<{state: object, event: object}>} [resolve]
 *   resolves a round of moves by seat
 * @property {(state: object, dice: import("../dice.js").Dice) => Promise<{state: object, event: object}>} [chance]
 *   deals when `to_move` is -1
 * @property {(state: object, seat: number) => object} [drop] returns the state after a seat left, with more than two seats
 * @property {(state: object) => number[]} ranks
 * @property {(state: object) => string} reason
 * @property {Payoffs} [payoffs] if these are the result instead of ranks
 * @property {(state: object) => object} [wire] returns the state in wire format, if it has more fields
 *
 * @typedef {object} Payoffs
 * @property {(state: object) => number[]} returns what each seat has been paid
 * @property {(state: object) => [number, number]} rounds numbers of complete and of remaining rounds
 * @property {number[]} least the minimum that one round pays each seat
 */

/** @type {Record<string, (config: object) => Rules>} */
export const RULES = {
  nim,
  grundy,
  tictactoe,
  dilemma,
  kuhn,
  leduc,
  "risk-duel": duel,
  "risk-campaign": (config) => new Campaign(config),
};

export { IllegalMove } from "./moves.js";
