/** Computes states that were not sent, by replaying events with the dice that they contain. */

import { RULES } from "../check/rules/index.js";
import { STATE_BUILDERS } from "./told-states.js";

/**
 * Return the first state of a match, before any deal; undefined if a deal creates it.
 * @param {object} header
 * @param {object | undefined} first event
 * @returns {Promise<object | undefined>}
 */
export async function opening({ game, config }, first) {
  if (game in STATE_BUILDERS) return STATE_BUILDERS[game].first();
  if (first?.seat < 0) return undefined;
  return (await RULES[game]?.(config).start(new ToldDice({})))?.state;
}

/**
 * Return the state after an event, with all fields that the rules keep; undefined if it can't be computed.
 * @param {object} header
 * @param {object | undefined} before the state before it, with all fields
 * @param {object} event
 * @returns {Promise<object | undefined>}
 */
export async function after({ game, config, seats }, before, event) {
  if (game in STATE_BUILDERS) return before?.ply === event.ply && event.out === undefined ? STATE_BUILDERS[game].after(config, before, event) : undefined;
  const rules = RULES[game]?.(config);
  if (!rules) return undefined;
  try {
    if (event.seat < 0) return rules.begun?.(event.move.owner, 1) ?? (await rules.start(new ToldDice(event))).state;
    if (!before) return undefined;
    if (event.out !== undefined) return seats.length > 2 ? rules.drop(before, event.seat) : before;
    return (await rules.play(before, event.move, new ToldDice(event))).state;
  } catch {
    return undefined; // unknown dice, or an event of rules that this page does not know
  }
}

/**
 * Convert a state to the wire format.
 * @param {object} header
 * @param {object} state
 */
export function travelling({ game, config }, state) {
  return RULES[game]?.(config).wire?.(state) ?? state;
}

/** Dice that show what an event contains. */
export class ToldDice {
  /** @param {{dice?: number[][], move?: {heaps?: number[]}}} event */
  constructor({ dice = [], move }) {
    this.faces = dice.flat();
    this.dealt = [...(move?.heaps ?? [])];
  }

  async choice() {
    return next(this.dealt, 1)[0];
  }

  async throw(purpose, count) {
    return next(this.faces, count);
  }
}

function next(numbers, count) {
  if (numbers.length < count) throw new Error("that was not told");
  return numbers.splice(0, count);
}
