/** The history of a game: for every seat a row of marks, latest last, and its total. */

import { el, put, say } from "../dom.js";
import { makeSeatSymbol } from "./seat-symbols.js";

const MAX_MARKS = 80; // marks per seat; no board has room for more

/**
 * @typedef {object} Mark what a seat did or got in a round
 * @property {string} text one to four characters
 * @property {string} kind a CSS class
 */

export class History {
  #shown = "";

  /**
   * @param {{bot: string}[]} seats
   * @param {string} noun the unit of the history, such as "round"
   */
  constructor(seats, noun) {
    this.noun = noun;
    this.names = seats.map(() => el("span", { class: "history-name" }));
    this.totals = seats.map(() => el("b", { class: "total" }));
    this.signs = seats.map((_, seat) => el("span", { class: `history-seat seat-${seat}` }, makeSeatSymbol(seat), this.names[seat]));
    this.columns = el("ol", { class: "columns-of-marks", "aria-hidden": "true" });
    this.caption = el("p", { class: "history-caption" });
    const totals = el("div", { class: "totals" }, ...this.totals.map((total, seat) => el("span", { class: `seat-${seat}` }, total)));
    this.element = el("div", { class: "history" }, this.caption, el("div", { class: "history-seats" }, ...this.signs), this.columns, totals);
  }

  /**
   * Show the known history.
   * @param {{number: number, marks: Mark[], title: string}[]} columns with marks by seat
   * @param {{names: string[], totals: string[], caption: string, order: number[]}} words by seat; `order` starts with the upper seat
   */
  show(columns, { names, totals, caption, order }) {
    for (const [seat, name] of names.entries()) {
      say(this.names[seat], name);
      say(this.totals[seat], totals[seat]);
      put(this.signs[seat], "data-below", seat === order[1]);
      put(this.totals[seat].parentNode, "data-below", seat === order[1]);
    }
    say(this.caption, caption);
    const latest = columns.slice(-MAX_MARKS).reverse(); // the columns are laid out from the right and cut off where the room ends
    const key = JSON.stringify([latest, order]);
    if (key === this.#shown) return;
    this.#shown = key;
    this.columns.style.setProperty("--count", columns.length);
    this.columns.replaceChildren(...latest.map((column) => this.#column(column, order)));
  }

  #column({ number, marks, title }, order) {
    const cells = order.map((seat) => el("span", { class: `mark-of-seat seat-${seat} ${marks[seat].kind}` }, marks[seat].text));
    return el("li", { title }, ...cells, el("span", { class: "mark-number" }, number % 5 === 0 || number === 1 ? number : ""));
  }
}
