/** Who a person is: the name that is proposed for what they typed, and the field for the token of a name, shown where names
 * are given by who runs the arena, and where one is refused. */

import { complain, put } from "../dom.js";
import { proposed, readToken, tokenOf, wrongWithToken } from "../identity.js";

/** The names that were proposed to a person on this page, by name: what they had typed, which is shown beside it. */
const DISPLAYS = new Map();

/**
 * Put the nearest name for a bot into a field in which a person typed their own, which is to be shown beside it.
 * @param {HTMLInputElement} input
 * @param {(sentence: string) => void} tell  says it where something is wrong with the field
 * @returns {boolean} whether there is one, to be looked at first
 */
export function propose(input, tell) {
  const found = proposed(input.value.trim());
  if (found === null) return false;
  input.value = found.bot;
  DISPLAYS.set(found.bot, found.display);
  tell(`You will play as ${found.bot}, because names use the letters A to Z. If the name is new here, ${found.display} is shown beside it. Continue if that is right.`);
  return true;
}

/**
 * What is shown beside a name that was proposed; empty where none was.
 * @param {string} bot
 */
export function displayOf(bot) {
  return DISPLAYS.get(bot) ?? "";
}

export class TokenField {
  #input;
  #box;
  #wrong;
  #isClosed;
  #isAsked = false;

  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} wrong  where it is said what is wrong with it
   * @param {boolean} isClosed  whether no name is registered by who comes
   */
  constructor(input, wrong, isClosed) {
    this.#input = input;
    this.#box = input.closest(".field");
    this.#wrong = wrong;
    this.#isClosed = isClosed;
    input.addEventListener("input", () => complain(input, wrong, ""));
  }

  /**
   * The token that was typed, empty where none is needed.
   * @returns {string}
   */
  get value() {
    return this.#box.hidden ? "" : readToken(this.#input.value);
  }

  /** Another name was typed: show the field where that needs it. */
  name(bot) {
    const isKept = tokenOf(bot) !== undefined && !this.#isAsked;
    put(this.#box, "hidden", isKept || !(this.#isClosed || this.#isAsked));
  }

  /** The arena refused a name: ask for its token from now on. */
  ask(bot) {
    this.#isAsked = true;
    this.name(bot);
  }

  /** The arena accepted a name: nothing need be typed any more. */
  accept(bot) {
    this.#isAsked = false;
    this.#input.value = "";
    this.name(bot);
  }

  /**
   * Say what is wrong with what was typed.
   * @returns {boolean} whether nothing is
   */
  check() {
    const isGiven = this.value !== "";
    const missing = this.#isClosed && !this.#box.hidden ? "On this arena a name needs its token: type or paste yours." : "";
    const wrong = isGiven ? wrongWithToken(this.value) : missing;
    complain(this.#input, this.#wrong, wrong);
    return wrong === "";
  }

  /** Say what is wrong, in a sentence; or, with an empty one, nothing any more. */
  wrong(sentence) {
    complain(this.#input, this.#wrong, sentence);
  }
}
