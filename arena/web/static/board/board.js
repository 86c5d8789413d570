/** The base class of all boards: the picture, its description in text, the last move, and how a choice is submitted. */

import { el, put, say } from "../dom.js";
import { listed } from "../format.js";
import { makeSeatSymbol } from "./army-symbols.js";
import { describeEvent } from "./move-text.js";
import { moversOf } from "./movers.js";

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
   * @param {string} game
   * @param {{config: object, seats: {bot: string}[]}} match
   */
  constructor(game, { config, seats }) {
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
    if (this.isPlayable && this.#focused && document.activeElement === document.body) this.#focus();
  }

  /** Restore the keyboard focus after the focused part was disabled or removed. */
  #focus() {
    this.face.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** Describe the last event. */
  #tell(event) {
    if (this.toldEvent === event) return;
    this.toldEvent = event;
    if (!event) this.eventElement.replaceChildren();
    else if (event.seat < 0) {
      const words = describeEvent(this.game, this.config, event, this.seats);
      const signs = (event.moves ?? []).map((_, seat) => makeSeatSymbol(seat));
      this.eventElement.replaceChildren(...signs, el("span", {}, event.moves ? words : `chance ${words}`));
    }
    else {
      const who = event.seat === this.view.seat ? "you" : this.seats[event.seat].bot;
      const words = el("span", {}, el("b", {}, who), `: ${describeEvent(this.game, this.config, event, this.seats)}`);
      this.eventElement.replaceChildren(...[makeSeatSymbol(event.seat), words, this.dice(event)].filter(Boolean));
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
   * Return the intermediate states of a turn to show, each with its event and the number of events after it.
   * @param {{state: object, events: object[]}} turn
   * @returns {{state: object, event: object, left: number}[]}
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
}
