/** A live match on the wall: title, players, board, status, and in the end who won. */

import { endingOf, ordinal } from "../board/ending-text.js";
import { makeBoard } from "../board/index.js";
import { moversOf } from "../board/movers.js";
import { Players } from "../board/players.js";
import { el, put, say } from "../dom.js";
import { clockText } from "../format.js";
import { poolTitle } from "../titles.js";

const FRAME_INTERVAL_MS = 250; // minimum ms between two positions: bots may move a thousand times a second
const LOW_TIME_MS = 20000; // ms; clocks with less are marked

export class WallMatch {
  over = false;
  #start;
  #board;
  #players;
  #told;
  #turn = null; // the latest turn
  #past = []; // the known events so far
  #since = 0; // when the turn arrived
  #drawn = 0; // when a position was drawn last
  #timer = 0;

  /** @param {object} start the message `start` */
  constructor(start) {
    this.#start = start;
    this.#board = makeBoard(start.game, start);
    this.#players = new Players(start.seats);
    this.#told = el("p", { class: "saying" });
    const title = el("a", { href: `/matches/${encodeURIComponent(start.match)}` }, poolTitle(start.game, start.preset));
    this.element = el(
      "li",
      { class: "wall-match" },
      el("h2", {}, title),
      this.#players.element,
      el("div", { class: "stage" }, this.#board.element),
      this.#told,
    );
  }

  /** Take a `turn`. */
  turn(turn) {
    this.#turn = turn;
    this.#past.push(...turn.events);
    this.#since = performance.now();
    this.#soon();
  }

  /** Take the `end`. */
  end(end) {
    this.over = true;
    clearTimeout(this.#timer);
    put(this.element, "data-over", true);
    const { ranks, reason, state, events } = end;
    this.#past.push(...events);
    if (Object.keys(state).length > 0) this.#show(state, events.at(-1));
    const { headline, why } = endingOf(end, this.#start);
    this.#told.replaceChildren(el("b", {}, headline), why === "" ? "" : `: ${why}`);
    for (const [seat, rank] of ranks.entries()) {
      this.#players.clock(seat, "");
      if (reason !== "void") this.#players.place(seat, ordinal(rank));
    }
  }

  /** Update the clocks. */
  tick() {
    if (this.over || this.#turn === null) return;
    const { clock, to_move: toMove } = this.#turn;
    const movers = moversOf(toMove);
    const passed = performance.now() - this.#since;
    for (const [seat, told] of clock.entries()) {
      const runs = movers.includes(seat);
      const left = told - (runs ? passed : 0);
      this.#players.clock(seat, clockText(left), runs && left < LOW_TIME_MS);
    }
  }

  /** Remove the match from the wall. */
  close() {
    clearTimeout(this.#timer);
    this.element.remove();
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), Math.max(0, this.#drawn + FRAME_INTERVAL_MS - performance.now()));
  }

  #draw() {
    this.#drawn = performance.now();
    const { state, events } = this.#turn;
    this.#show(state, events.at(-1));
    say(this.#told, this.#board.statusText());
    this.tick();
  }

  #show(state, event) {
    this.#board.show(state, { event, before: this.#board.state, past: this.#past });
    this.#players.show(state.to_move, this.#board);
  }
}
