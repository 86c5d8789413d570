/** What all boards share: the picture, its words for those who do not see it, the last move, how a person's choice leaves it. */

import { el, put, say } from "../dom.js";
import { listed } from "../format.js";
import { seatSign } from "./army-symbols.js";
import { inWords } from "./move-text.js";
import { moversOf } from "./movers.js";

/**
 * @typedef {object} View how a state is shown
 * @property {object} [event] the event that led to the state
 * @property {object} [before] the state before that event
 * @property {object[]} [past] the events up to the state, as far as they are known
 * @property {object[]} [legal] the legal moves of a turn: with them the board can be played on
 * @property {object} [options] of the turn, where `legal` is not all
 * @property {number} [seat] the person's
 */

/**
 * A board: made once for a match, shown again for every state. Its picture is `element`; `told` says what happened last,
 * `controls` has what a person presses beside the picture, both to be put where the page has room.
 */
export class Board {
  /** @type {(move: object) => void} called with a legal move as it travels */
  onChoose = () => {};
  /** @type {(sentence: string) => void} called with what is wrong with what was pressed */
  onRefuse = () => {};
  #focused = false; // when it could be played on last

  /**
   * @param {string} game
   * @param {{config: object, seats: {bot: string}[]}} match
   */
  constructor(game, { config, seats }) {
    this.game = game;
    this.config = config;
    this.seats = seats;
    this.told = el("div", { class: "board-told" });
    this.face = el("div", { class: "board-face" });
    this.words = el("p", { class: "quiet" });
    this.controls = el("div", { class: "board-controls", hidden: true });
    this.element = el("div", { class: `board board-${game}`, role: "group", "aria-label": "board" }, this.face, this.words);
    /** @type {View} */
    this.view = {};
  }

  /**
   * Show a state; only what differs from the one shown before is drawn.
   * @param {object} state
   * @param {View} [view]
   */
  show(state, view = {}) {
    if (this.playable) this.#focused = [this.element, this.controls].some((part) => part.contains(document.activeElement));
    this.state = state;
    this.view = view;
    put(this.element, "data-playable", this.playable);
    put(this.controls, "hidden", !this.playable || !this.controls.hasChildNodes());
    put(this.words, "aria-live", this.playable ? "polite" : null);
    say(this.words, this.describe(state));
    this.#tell(view.event);
    this.draw();
    if (this.playable && this.#focused && document.activeElement === document.body) this.#focus();
  }

  /** What had the focus could not be pressed for a while, or is gone: a person goes on with the keyboard. */
  #focus() {
    this.face.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** Say what happened last. */
  #tell(event) {
    if (this.toldEvent === event) return;
    this.toldEvent = event;
    if (!event) this.told.replaceChildren();
    else if (event.seat < 0) {
      const words = inWords(this.game, this.config, event, this.seats);
      const signs = (event.moves ?? []).map((_, seat) => seatSign(seat));
      this.told.replaceChildren(...signs, el("span", {}, event.moves ? words : `chance ${words}`));
    }
    else {
      const who = event.seat === this.view.seat ? "you" : this.seats[event.seat].bot;
      const words = el("span", {}, el("b", {}, who), `: ${inWords(this.game, this.config, event, this.seats)}`);
      this.told.replaceChildren(...[seatSign(event.seat), words, this.dice(event)].filter(Boolean));
    }
  }

  /** Where the match stands, in a few words; a person whose turn it is is told that elsewhere. */
  saying() {
    const others = moversOf(this.state.to_move).filter((seat) => seat !== this.view.seat);
    return others.length === 0 ? "" : `${listed(others.map((seat) => this.seats[seat].bot))} ${others.length === 1 ? "is" : "are"} to move`;
  }

  /**
   * What a seat has, where that is counted: in words, in numbers alone, and as a share of the whole, 0 to 1, where there
   * is a whole; whether it is out.
   * @param {number} seat
   * @returns {{words: string, short: string, share: number | null, out: boolean} | null}
   */
  strength() {
    return null;
  }

  /** How a person moves here, in a sentence; empty where the board says it turn by turn. */
  get manner() {
    return "";
  }

  /** Whether its controls list every move that a person has. */
  get listsMoves() {
    return false;
  }

  /** What a person chose where others have not yet, in words: it stands. */
  get chosen() {
    return "";
  }

  /**
   * The states between that a turn does not tell, and that a person should see, each with its event and how many are left.
   * @param {{state: object, events: object[]}} turn
   * @returns {{state: object, event: object, left: number}[]}
   */
  steps() {
    return [];
  }

  /** What the dice of an event look like, if it has any. */
  dice() {
    return null;
  }

  /** Whether a person may choose now. */
  get playable() {
    return Boolean(this.view.legal?.length);
  }

  /** The seat of a person, or who is to move. */
  get mover() {
    return this.view.seat ?? this.state.to_move;
  }

  /** Give a chosen move away; nothing more can be chosen until the next state. */
  choose(move) {
    const { legal, options, ...view } = this.view;
    this.show(this.state, view);
    this.onChoose(move);
  }

  /**
   * Who sits there, in words.
   * @param {number} seat
   */
  player(seat) {
    return `${this.seats[seat]?.bot ?? "nobody"} (seat ${seat + 1})`;
  }

  /**
   * The position in words.
   * @param {object} state
   * @returns {string}
   */
  describe(state) {
    const movers = moversOf(state.to_move);
    return movers.length === 0 ? "The game is over." : `${listed(movers.map((seat) => this.player(seat)))} ${movers.length === 1 ? "is" : "are"} to move.`;
  }

  /** Draw `state` as `view` says. */
  draw() {}
}
