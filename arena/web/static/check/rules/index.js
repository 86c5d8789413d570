// The rules of the games, by name, for refereeing a record again. They answer as protocol/games does.

import { Campaign } from "./campaign.js";
import { duel } from "./duel.js";
import { grundy } from "./grundy.js";
import { nim } from "./nim.js";
import { tictactoe } from "./tictactoe.js";

/**
 * @typedef {object} Rules a game under one config; states are as they travel, or more than that
 * @property {number} seats
 * @property {(choice: import("../dice.js").Choice) => string} [told] what a choice of its dice stands for
 * @property {(dice: import("../dice.js").Dice) => Promise<{state: object, deal?: object}>} start
 * @property {(state: object, move: unknown, dice: import("../dice.js").Dice) =>
 *   Promise<{state: object, event: object}>} play throws Illegal
 * @property {(state: object, seat: number) => object} [drop] the state after a seat left; only of more than two seats
 * @property {(state: object) => number[]} ranks
 * @property {(state: object) => string} reason
 * @property {(state: object) => object} [wire] the state as it travels, where it is more than that
 */

/** @type {Record<string, (config: object) => Rules>} */
export const RULES = {
  nim,
  grundy,
  tictactoe,
  "risk-duel": duel,
  "risk-campaign": (config) => new Campaign(config),
};

export { Illegal } from "./moves.js";
