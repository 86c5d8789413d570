/** What was played before: for every seat a row of marks, the latest last, and what the seat has in all. */

import { seatSign } from "./army-symbols.js";
import { el, put, say } from "../dom.js";

const MOST = 80; // marks of a seat, more than any board has room for

/**
 * @typedef {object} Mark what a seat did, or got
 * @property {string} text one to four characters
 * @property {string} kind a class
 */

export class History {
  #shown = "";

  /**
   * @param {{bot: string}[]} seats
   * @param {string} noun what is counted: "round"
   */
  constructor(seats, noun) {
    this.noun = noun;
    this.names = seats.map(() => el("span", { class: "history-name" }));
    this.totals = seats.map(() => el("b", { class: "total" }));
    this.signs = seats.map((_, seat) => el("span", { class: `history-seat seat-${seat}` }, seatSign(seat), this.names[seat]));
    this.columns = el("ol", { class: "columns-of-marks", "aria-hidden": "true" });
    this.caption = el("p", { class: "history-caption" });
    const totals = el("div", { class: "totals" }, ...this.totals.map((total, seat) => el("span", { class: `seat-${seat}` }, total)));
    this.element = el("div", { class: "history" }, this.caption, el("div", { class: "history-seats" }, ...this.signs), this.columns, totals);
  }

  /**
   * Show what was played, from the first that is known on.
   * @param {{number: number, marks: Mark[], title: string}[]} columns marks by seat
   * @param {{names: string[], totals: string[], caption: string, order: number[]}} words by seat; `order` has the upper seat first
   */
  show(columns, { names, totals, caption, order }) {
    for (const [seat, name] of names.entries()) {
      say(this.names[seat], name);
      say(this.totals[seat], totals[seat]);
      put(this.signs[seat], "data-below", seat === order[1]);
      put(this.totals[seat].parentNode, "data-below", seat === order[1]);
    }
    say(this.caption, caption);
    const latest = columns.slice(-MOST).reverse(); // they are laid out from the right, as many as there is room for
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
