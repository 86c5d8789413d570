/**
 * The base class of all boards: the picture, its description in text, the last move, and how a choice is submitted. Its
 * static methods are the words of a game. The base class has words that fit any game.
 */

import { el, put, say } from "../dom.js";
import { listed } from "../format.js";
import { moversOf } from "./movers.js";
import { makeSeatSymbol } from "./seat-symbols.js";

/**
 * @typedef {object} View how to show a state
 * @property {object} [event] the event that led to the state
 * @property {object} [before] the state before that event
 * @property {object[]} [past] the known events before the state
 * @property {object[]} [legal] the legal moves of a turn, which make the board playable
 * @property {object} [options] the turn's options, if `legal` is incomplete
 * @property {number} [seat] the person's seat
 */

/**
 * A board, created once per match and updated for every state. `element` is the picture; `eventElement` describes the last
 * event, and `controls` has the buttons. The page places these two where it has room.
 */
export class Board {
  /** @type {(move: object) => void} called with a legal move in wire format */
  onChoose = () => {};
  /** @type {(sentence: string) => void} called with the reason why a press was refused */
  onRefuse = () => {};
  #focused = false; // whether it had the focus when it was last playable

  /**
   * @param {{config: object, seats: {bot: string}[]}} match
   * @param {string} game
   */
  constructor({ config, seats }, game) {
    this.game = game;
    this.config = config;
    this.seats = seats;
    this.eventElement = el("div", { class: "board-told" });
    this.face = el("div", { class: "board-face" });
    this.words = el("p", { class: "quiet" });
    this.controls = el("div", { class: "board-controls", hidden: true });
    this.element = el("div", { class: `board board-${game}`, role: "group", "aria-label": "board" }, this.face, this.words);
    /** @type {View} */
    this.view = {};
  }

  /**
   * Show a state; only the differences to the previous one are drawn.
   * @param {object} state
   * @param {View} [view]
   */
  show(state, view = {}) {
    if (this.isPlayable) this.#focused = [this.element, this.controls].some((part) => part.contains(document.activeElement));
    this.state = state;
    this.view = view;
    put(this.element, "data-playable", this.isPlayable);
    put(this.controls, "hidden", !this.isPlayable || !this.controls.hasChildNodes());
    put(this.words, "aria-live", this.isPlayable ? "polite" : null);
    say(this.words, this.describe(state));
    this.#tell(view.event);
    this.draw();
    this.restoreFocus();
  }

  /** Restore the keyboard focus after the focused part was disabled or removed. */
  restoreFocus() {
    if (!this.isPlayable || !this.#focused || document.activeElement !== document.body) return;
    this.focusTarget()?.focus({ preventScroll: true });
  }

  /** Return the part that gets the focus after another one has lost it; null for none. */
  focusTarget() {
    return this.face.querySelector("[tabindex='0']");
  }

  /** Describe the last event. */
  #tell(event) {
    if (this.toldEvent === event) return;
    this.toldEvent = event;
    if (!event) {
      this.eventElement.replaceChildren();
      return;
    }
    const words = this.constructor.eventText(this.config, event, this.seats);
    if (event.seat < 0) {
      const signs = (event.moves ?? []).map((_, seat) => makeSeatSymbol(seat));
      this.eventElement.replaceChildren(...signs, el("span", {}, event.moves ? words : `chance ${words}`));
    }
    else {
      const who = event.seat === this.view.seat ? "you" : this.seats[event.seat].bot;
      const told = el("span", {}, el("b", {}, who), `: ${words}`);
      this.eventElement.replaceChildren(...[makeSeatSymbol(event.seat), told, this.dice(event)].filter(Boolean));
    }
  }

  /** Return the state of the match in a few words. Another part of the page tells a person that it is their turn. */
  statusText() {
    const others = moversOf(this.state.to_move).filter((seat) => seat !== this.view.seat);
    return others.length === 0 ? "" : `${listed(others.map((seat) => this.seats[seat].bot))} ${others.length === 1 ? "is" : "are"} to move`;
  }

  /**
   * Return what a seat has, if the game counts it: in words, as a short text, as a fraction of the whole (0 to 1) if
   * there is a whole, and whether the seat is out.
   * @param {number} seat
   * @returns {{words: string, short: string, share: number | null, out: boolean} | null}
   */
  strength() {
    return null;
  }

  /** The sentence that explains how to move; empty if the board explains it turn by turn. */
  get instructions() {
    return "";
  }

  /** Whether the controls list all legal moves. */
  get listsMoves() {
    return false;
  }

  /** The choice that a person has made while others have not yet, in words. */
  get choiceText() {
    return "";
  }

  /**
   * Return the intermediate states of a turn to show, each with its event, the number of events after it, and a sentence
   * about the state.
   * @param {{state: object, events: object[]}} turn
   * @returns {{state: object, event: object, left: number, text: string}[]}
   */
  steps() {
    return [];
  }

  /** Return a picture of an event's dice, or null. */
  dice() {
    return null;
  }

  /** Whether the person may choose a move now. */
  get isPlayable() {
    return Boolean(this.view.legal?.length);
  }

  /** The person's seat, or the seat to move. */
  get mover() {
    return this.view.seat ?? this.state.to_move;
  }

  /** Submit a move; nothing can be chosen until the next state. */
  choose(move) {
    const { legal, options, ...view } = this.view;
    this.show(this.state, view);
    this.onChoose(move);
  }

  /**
   * Return the name of a seat's player.
   * @param {number} seat
   */
  player(seat) {
    return `${this.seats[seat]?.bot ?? "nobody"} (seat ${seat + 1})`;
  }

  /**
   * Describe the position.
   * @param {object} state
   * @returns {string}
   */
  describe(state) {
    const movers = moversOf(state.to_move);
    return movers.length === 0 ? "The game is over." : `${listed(movers.map((seat) => this.player(seat)))} ${movers.length === 1 ? "is" : "are"} to move.`;
  }

  /** Draw `state` as `view` says; subclasses override it. */
  draw() {}

  /**
   * Describe the config of a preset, except for what the preset's title says.
   * @param {Record<string, unknown>} config
   * @returns {string}
   */
  static configText(config) {
    return Object.entries(config).map(([key, value]) => `${key.replaceAll("_", " ")} ${settingText(value)}`).join("; ");
  }

  /**
   * Describe a move in a few words.
   * @param {object} config
   * @param {object} move
   * @param {number} [seat] the seat that moved, where the names of moves depend on it
   * @returns {string}
   */
  static moveText(config, move, seat) {
    return JSON.stringify(move);
  }

  /**
   * Describe an event, without the name of the mover.
   * @param {object} config
   * @param {object} event
   * @param {{bot: string}[]} [seats]
   * @returns {string}
   */
  static eventText(config, event, seats = []) {
    if (event.out !== undefined && event.out !== null) return `out: ${event.out}`;
    if (event.moves) return this.roundText(config, event);
    if (event.seat < 0) return this.dealText(event.move);
    const came = this.resultText(event, seats);
    return this.moveText(config, event.move) + (came ? `: ${came}` : "");
  }

  /**
   * Describe a deal: "deals heaps of 3, 4, 5".
   * @param {object} move
   * @returns {string}
   */
  static dealText(move) {
    return `deals ${JSON.stringify(move)}`;
  }

  /**
   * Describe what came of a move; empty if the move says all.
   * @param {object} event
   * @param {{bot: string}[]} seats
   * @returns {string}
   */
  static resultText(event, seats) {
    return "";
  }

  /**
   * Describe a round of simultaneous moves, without seats that are out.
   * @param {object} config
   * @param {object} event
   * @returns {string}
   */
  static roundText(config, { moves }) {
    return moves.flatMap((move, seat) => (move === null ? [] : this.moveText(config, move, seat))).join(", ");
  }

  /**
   * Describe a round of simultaneous moves by seat: "you defect, bob cooperate".
   * @param {object} config
   * @param {object} event
   * @param {{bot: string}[]} seats
   * @returns {string}
   */
  static roundTextBySeat(config, { moves }, seats) {
    return moves.flatMap((move, seat) => (move === null ? [] : `${seats[seat].bot} ${this.moveText(config, move, seat)}`)).join(", ");
  }

  /**
   * Describe how the rules ended a match: "ann has three in a row"; undefined if that is not known.
   * @param {import("./ending-text.js").Ended} ended
   * @param {number[]} winners the seats with the first rank
   * @returns {string | undefined}
   */
  static endingText(ended, winners) {
    return undefined;
  }

  /** How the rules put a seat out of a match that the others go on with. */
  static get eliminationText() {
    return "you are out of the game";
  }

  /**
   * Return the probability that a move succeeds, from 0 to 1; null if there is no chance in it.
   * @param {object} config
   * @param {object} state
   * @param {object} move
   * @returns {number | null}
   */
  static chanceOf(config, state, move) {
    return null;
  }

  /**
   * Return whether an event captured something, so that the time line marks it.
   * @param {object} event
   * @returns {boolean}
   */
  static isCapture(event) {
    return false;
  }

  /**
   * Say where in a match a move was made: "move 3".
   * @param {number} number of the move, from 1
   * @param {object | null} [state] the state before it, if that is known
   */
  static placeText(number, state) {
    return `move ${number}`;
  }

  /**
   * Describe the values of graded moves in a game whose values have a unit.
   * @param {string} unit such as "chips"
   */
  static gradeScaleText(unit) {
    return `In ${unit}.`;
  }

  /**
   * Return what each point of view sees of a match, as the server's rules tell it; null if nothing is hidden.
   * @param {object} config
   * @returns {import("../viewer/views.js").Views | null}
   */
  static viewsOf(config) {
    return null;
  }

  /**
   * Return the events before an example position of the rules that its board needs.
   * @param {object} state
   * @returns {object[]}
   */
  static eventsBefore(state) {
    return [];
  }

  /**
   * Return how an example move in the text of the rules is shown: with which faces of the dice, whether by a picture of the
   * position after it, and whether the next example begins with that position.
   * @param {object} move
   * @returns {{dice: number[][], hasPicture: boolean, goesOn: boolean}}
   */
  static exampleOf(move) {
    return { dice: [], hasPicture: true, goesOn: false };
  }
}

function settingText(value) {
  if (value === null) return "any";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
