/** The stage: a small board that plays a match by itself, live or from its record, and can be paused. */

import { isLoaded, makeBoard } from "../board/index.js";
import { moversOf } from "../board/movers.js";
import { makeSeatSymbol } from "../board/seat-symbols.js";
import { el, put, say } from "../dom.js";

const MOVE_DISPLAY_MS = 1000; // ms per move of a replay
const END_DISPLAY_MS = 6000; // ms for its last position

/** Whether the visitor prefers reduced motion; then nothing moves by itself. */
const PREFERS_REDUCED_MOTION = matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The stage, which shows one match at a time. */
export class Stage {
  #heading;
  #told;
  #players;
  #saying;
  #open;
  #place;
  #button;
  #board = null;
  #latest = null;
  #paused = PREFERS_REDUCED_MOTION;

  /** @param {HTMLElement} root with a heading and parts of the classes below */
  constructor(root) {
    this.#heading = root.querySelector("h2");
    this.#told = root.querySelector(".stage-told");
    this.#players = root.querySelector(".stage-players");
    this.#saying = root.querySelector(".stage-saying");
    this.#open = root.querySelector(".stage-open");
    this.#place = root.querySelector(".stage-board");
    this.#button = root.querySelector(".stage-pause");
    this.#button.addEventListener("click", () => this.#pause(!this.#paused));
    this.#pause(this.#paused);
  }

  /** Whether the view is paused. */
  get paused() {
    return this.#paused;
  }

  /**
   * Start another match; of a game whose board is not loaded only the players are shown.
   * @param {string} game
   * @param {{config: object, seats: {bot: string}[]}} match
   */
  begin(game, match) {
    this.#players.replaceChildren(
      ...match.seats.map(({ bot }, seat) => el("li", { class: `seat-${seat}` }, makeSeatSymbol(seat), bot)),
    );
    this.#latest = null;
    this.#board = isLoaded(game) ? makeBoard(game, match) : null;
    this.#place.replaceChildren(...(this.#board ? [this.#board.element] : []));
    put(this.#button, "hidden", this.#board === null);
  }

  /**
   * Show the next state and its events; while paused, only the first and the last.
   * @param {object} state
   * @param {object[]} past the known events up to the state
   * @param {boolean} [isLast] true at the end of the match
   */
  show(state, past, isLast = false) {
    this.#latest = { state, past };
    if (!this.#paused || isLast || this.#board?.state === undefined) this.#draw();
  }

  /**
   * Describe what is shown.
   * @param {string} heading
   * @param {string} match
   * @param {string} what the text of the link to the match
   * @param {string} [more]
   */
  tell(heading, match, what, more = "") {
    const address = `/matches/${encodeURIComponent(match)}`;
    say(this.#heading, heading);
    this.#told.replaceChildren(el("a", { href: address }, what), " ", el("span", { class: "faint" }, more));
    put(this.#open, "href", address);
    put(this.#open, "hidden", false);
  }

  #pause(paused) {
    this.#paused = paused;
    say(this.#button, paused ? "Resume" : "Pause");
    if (paused) this.#say();
    else this.#draw();
  }

  /** Show whose turn it is on the board, and whether the view is paused. */
  #say() {
    if (this.#board?.state === undefined) return;
    const { to_move: toMove } = this.#board.state;
    const movers = moversOf(toMove);
    for (const [seat, player] of [...this.#players.children].entries()) put(player, "data-to-move", movers.includes(seat));
    say(this.#saying, toMove === null ? "The end." : `${this.#board.statusText()}${this.#paused ? " (view paused)" : ""}.`);
  }

  #draw() {
    if (this.#board === null || this.#latest === null) return;
    const { state, past } = this.#latest;
    this.#board.show(state, { event: past.at(-1), before: this.#board.state, past });
    this.#say();
  }
}

/** A finished match that is replayed on a stage in a loop. */
export class Replay {
  #stage;
  #record;
  #timer = 0;

  /**
   * @param {Stage} stage
   * @param {{header: object, start: object, plies: {event: object, state: object}[]}} record as in the API
   */
  constructor(stage, record) {
    this.#stage = stage;
    this.#record = record;
    stage.begin(record.header.game, record.header);
    this.#step(PREFERS_REDUCED_MOTION ? record.plies.length : 0);
  }

  /** Stop, so that another match can use the stage. */
  stop() {
    clearTimeout(this.#timer);
  }

  #step(at) {
    const { start, plies } = this.#record;
    const past = plies.slice(0, at).map(({ event }) => event);
    this.#stage.show(at === 0 ? start : plies[at - 1].state, past);
    const isLast = at === plies.length;
    this.#wait(isLast ? 0 : at + 1, isLast ? END_DISPLAY_MS : MOVE_DISPLAY_MS);
  }

  #wait(next, ms) {
    this.#timer = setTimeout(() => {
      if (document.hidden || this.#stage.paused) this.#wait(next, MOVE_DISPLAY_MS);
      else this.#step(next);
    }, ms);
  }
}
