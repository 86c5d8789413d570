// The rules of the games, by name, for refereeing a record again. They answer as protocol/games does.

import { Campaign } from "./campaign.js";
import { dilemma } from "./dilemma.js";
import { duel } from "./duel.js";
import { grundy } from "./grundy.js";
import { nim } from "./nim.js";
import { kuhn, leduc } from "./poker.js";
import { tictactoe } from "./tictactoe.js";

/**
 * @typedef {object} Rules a game under one config; states are as they travel, or more than that
 * @property {number} seats
 * @property {boolean} [hidden] whether something is hidden from somebody, so that its digests are salted
 * @property {(choice: import("../dice.js").Choice, purpose: string) => string} [told] what a choice of its dice stands for
 * @property {(dice: import("../dice.js").Dice) => Promise<{state: object, deal?: object}>} start
 * @property {(state: object, move: unknown, dice: import("../dice.js").Dice) =>
 *   Promise<{state: object, event: object}>} [play] throws Illegal; missing where all move at once
 * @property {(state: object, seat: number, move: unknown) => void} [checkMove] of a seat that moves at once with others;
 *   throws Illegal
 * @property {(state: object, moves: object[], dice: import("../dice.js").Dice) =>
 *   Promise<{state: object, event: object}>} [resolve] what comes of a round, whose moves are told by seat
 * @property {(state: object, dice: import("../dice.js").Dice) => Promise<{state: object, event: object}>} [chance] what is
 *   dealt where `to_move` is -1
 * @property {(state: object, seat: number) => object} [drop] the state after a seat left; only of more than two seats
 * @property {(state: object) => number[]} ranks
 * @property {(state: object) => string} reason
 * @property {Payoffs} [payoffs] where these are the result, and not ranks
 * @property {(state: object) => object} [wire] the state as it travels, where it is more than that
 *
 * @typedef {object} Payoffs
 * @property {(state: object) => number[]} returns what each seat has been paid
 * @property {(state: object) => [number, number]} rounds how many are complete, and how many still to come
 * @property {number[]} least what one round can pay each seat at least
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

export { Illegal } from "./moves.js";
