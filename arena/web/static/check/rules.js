// The rules of games, for refereeing records again. They behave like those of the server.

import { loadPart } from "../games.js";
import { kit } from "./kit.js";

/**
 * @typedef {object} Rules a game under one config; its states have the wire format, possibly with more fields
 * @property {number} seats
 * @property {boolean} [hidden] whether the game has hidden information, so that its digests are salted
 * @property {(choice: import("./dice.js").Choice, purpose: string) => string} [told] returns the meaning of a choice
 * @property {(dice: import("./dice.js").Dice) => Promise<{state: object, deal?: object}>} start
 * @property {(state: object, move: unknown, dice: import("./dice.js").Dice) => Promise<{state: object, event: object}>} [play]
 *   throws IllegalMove; missing if all moves are simultaneous
 * @property {(state: object, seat: number, move: unknown) => void} [checkMove] checks a simultaneous move; throws IllegalMove
 * @property {(state: object, moves: object[], dice: import("./dice.js").Dice) => Promise<{state: object, event: object}>} [resolve]
 *   resolves a round of moves by seat
 * @property {(state: object, dice: import("./dice.js").Dice) => Promise<{state: object, event: object}>} [chance]
 *   deals when `to_move` is -1
 * @property {(state: object, seat: number) => object} [drop] returns the state after a seat left, with more than two seats
 * @property {(state: object) => number[]} ranks
 * @property {(state: object) => string} reason
 * @property {Payoffs} [payoffs] if these are the result instead of ranks
 * @property {(state: object) => object} [wire] returns the state in wire format, if it has more fields
 * @property {(move: object) => object} [dealt] returns the state after a deal before the first move
 * @property {Spectated} [spectated] for games that hide something, or whose moves are simultaneous
 *
 * @typedef {object} Payoffs
 * @property {(state: object) => number[]} returns what each seat has been paid
 * @property {(state: object) => [number, number]} rounds numbers of complete and of remaining rounds
 * @property {number[]} least the minimum that one round pays each seat
 *
 * @typedef {object} Spectated states in wire format, as spectators may see them, from what they are told
 * @property {() => object} first
 * @property {(before: object, event: object) => object} after
 */

/** @type {Map<string, (config: object) => Rules>} */
const loaded = new Map();

/**
 * Return the rules of a match, loaded if needed; undefined for a game whose rules this page does not have.
 * @param {{game: string, config: object}} header
 * @returns {Promise<Rules | undefined>}
 */
export async function loadRules({ game, config }) {
  if (!loaded.has(game)) loaded.set(game, await loadPart(game, "check", kit));
  return loaded.get(game)?.(config);
}

export { IllegalMove } from "./moves.js";
