/** Computes states that were not sent, by replaying events with the dice that they contain. */

/** @typedef {import("../check/rules.js").Rules} Rules */

/**
 * Return the first state of a match, before any deal; undefined if a deal creates it.
 * @param {Rules | undefined} rules
 * @param {object | undefined} first event
 * @returns {Promise<object | undefined>}
 */
export async function opening(rules, first) {
  if (rules?.spectated) return rules.spectated.first();
  if (first?.seat < 0) return undefined;
  return (await rules?.start(new ToldDice({})))?.state;
}

/**
 * Return the state after an event, with all fields that the rules keep; undefined if it can't be computed.
 * @param {Rules | undefined} rules
 * @param {{seats: object[]}} header
 * @param {object | undefined} before the state before it, with all fields
 * @param {object} event
 * @returns {Promise<object | undefined>}
 */
export async function after(rules, { seats }, before, event) {
  if (!rules) return undefined;
  if (rules.spectated) return before?.ply === event.ply && event.out === undefined ? rules.spectated.after(before, event) : undefined;
  try {
    if (event.seat < 0) return rules.dealt?.(event.move);
    if (!before) return undefined;
    if (event.out !== undefined) return seats.length > 2 ? rules.drop(before, event.seat) : before;
    return (await rules.play(before, event.move, new ToldDice(event))).state;
  } catch {
    return undefined; // unknown dice, or an event of rules that this page does not know
  }
}

/**
 * Convert a state to the wire format.
 * @param {Rules} rules
 * @param {object} state
 */
export function travelling(rules, state) {
  return rules.wire?.(state) ?? state;
}

/** Dice that show what an event contains. */
export class ToldDice {
  /** @param {{dice?: number[][]}} event */
  constructor({ dice = [] }) {
    this.faces = dice.flat();
  }

  async throw(purpose, count) {
    if (this.faces.length < count) throw new Error("that was not told");
    return this.faces.splice(0, count);
  }
}
