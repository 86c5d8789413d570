/** The states of a match between those that were told: events played again with the dice that they tell. */

import { RULES } from "../check/rules/index.js";
import { TOLD } from "./told-states.js";

/**
 * The state that a match begins with, before any deal of its own is known; undefined where a deal makes it.
 * @param {object} header
 * @param {object | undefined} first event
 * @returns {Promise<object | undefined>}
 */
export async function opening({ game, config }, first) {
  if (game in TOLD) return TOLD[game].first();
  if (first?.seat < 0) return undefined;
  return (await RULES[game]?.(config).start(new ToldDice({})))?.state;
}

/**
 * The state after an event, as the rules keep it; undefined where they can't tell.
 * @param {object} header
 * @param {object | undefined} before the state before it, as the rules keep it
 * @param {object} event
 * @returns {Promise<object | undefined>}
 */
export async function after({ game, config, seats }, before, event) {
  if (game in TOLD) return before?.ply === event.ply && event.out === undefined ? TOLD[game].after(config, before, event) : undefined;
  const rules = RULES[game]?.(config);
  if (!rules) return undefined;
  try {
    if (event.seat < 0) return rules.begun?.(event.move.owner, 1) ?? (await rules.start(new ToldDice(event))).state;
    if (!before) return undefined;
    if (event.out !== undefined) return seats.length > 2 ? rules.drop(before, event.seat) : before;
    return (await rules.play(before, event.move, new ToldDice(event))).state;
  } catch {
    return undefined; // dice that were not told, or an event of rules that this page does not know
  }
}

/**
 * A state as it travels.
 * @param {object} header
 * @param {object} state
 */
export function travelling({ game, config }, state) {
  return RULES[game]?.(config).wire?.(state) ?? state;
}

/** Dice that fall as an event tells. */
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
