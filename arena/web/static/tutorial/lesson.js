/** A lesson: positions of a game with fixed dice, and the move wanted in each. Independent of the page. */

import { canonical } from "../check/canonical.js";
import { IllegalMove } from "../check/rules.js";
import { ToldDice } from "../viewer/states.js";

/**
 * @typedef {object} Step
 * @property {string} say what to do, and why
 * @property {string} hint what to press
 * @property {object} move the wanted move
 * @property {number[][]} [dice] the dice it throws
 * @property {string} came the comment on its result
 * @property {{moves: object[], dice?: number[][], came: string}} [answer] the other seat's answer
 *
 * @typedef {object} Script what the script of a tutorial makes: its default export is a function (kit, game)
 * @property {object} [deal] the deal before the first move
 * @property {(state: object) => object[]} candidates returns all moves that may be legal
 * @property {Step[]} steps
 *
 * @typedef {object} Shown a position, and how to show it
 * @property {object} state
 * @property {import("../board/board.js").View} view
 */

export const LEARNER = 0;

export class Lesson {
  #rules;
  #script;
  #state;

  /**
   * @param {import("../check/rules.js").Rules} rules
   * @param {Script} script
   */
  constructor(rules, script) {
    this.#rules = rules;
    this.#script = script;
  }

  /** The number of moves. */
  get length() {
    return this.#script.steps.length;
  }

  /** The current step; undefined after the last. */
  get step() {
    return this.#script.steps[this.done];
  }

  /** @returns {Promise<Shown>} the first position */
  async begin() {
    this.done = 0;
    const { deal } = this.#script;
    this.#state = deal ? this.#rules.dealt(deal) : (await this.#rules.start(new ToldDice({}))).state;
    return this.asked();
  }

  /** @returns {Promise<Shown>} the present position with the legal moves; `view` is added to its view */
  async asked(view = {}) {
    return { state: this.#wire(), view: { ...view, seat: LEARNER, legal: await this.#legal() } };
  }

  /**
   * Make a move, if it is the wanted one.
   * @param {object} move a legal one
   * @returns {Promise<Shown | null>} the position after it; null if another move is wanted
   */
  async move(move) {
    const { step } = this;
    if (canonical(move) !== canonical(step.move)) return null;
    const view = await this.#play([move], step.dice);
    this.done += 1;
    return { state: this.#wire(), view: { ...view, seat: LEARNER } };
  }

  /**
   * Make the other seat's answer.
   * @param {{moves: object[], dice?: number[][]}} answer
   * @returns {Promise<Shown>} the position after it, with the legal moves
   */
  async answer({ moves, dice }) {
    return this.asked(await this.#play(moves, dice));
  }

  /** Play moves; the view shows the one that threw dice, or the last. */
  async #play(moves, dice) {
    const told = new ToldDice({ dice });
    let seen = null;
    for (const move of moves) {
      const before = this.#wire();
      const { state, event } = await this.#rules.play(this.#state, move, told);
      if (!seen?.event.dice) seen = { before, event };
      this.#state = state;
    }
    return seen;
  }

  async #legal() {
    if (this.#state.to_move !== LEARNER) return [];
    const legal = [];
    for (const move of this.#script.candidates(this.#state)) if (await this.#allows(move)) legal.push(move);
    return legal;
  }

  async #allows(move) {
    try {
      await this.#rules.play(this.#state, move, ALL_ONES_DICE);
      return true;
    } catch (error) {
      if (error instanceof IllegalMove) return false;
      throw error;
    }
  }

  #wire() {
    return this.#rules.wire?.(this.#state) ?? this.#state;
  }
}

/** Dice that always show 1, for moves that are only tried. */
const ALL_ONES_DICE = { throw: async (_, count) => new Array(count).fill(1) };
