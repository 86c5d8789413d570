/** The list of moves. It contains only the visible rows, so that it stays smooth with thousands. */

import { boardClass } from "../board/index.js";
import { actorsOf } from "../board/movers.js";
import { makeSeatSymbol } from "../board/seat-symbols.js";
import { el, put } from "../dom.js";
import { durationText, listed, lossText, luckText, shortValue } from "../format.js";
import { addressOf } from "./address.js";
import { ALL_EYE } from "./views.js";

const EXTRA_ROWS = 12; // rows kept above and below the visible ones
const USUAL_HEIGHT = 36; // height of a row in px before one is measured
const COLUMNS = ["no.", "bot", "move", "gave away", "luck", "thought", "value", "note"];
const NUMBERS = new Set(["luck", "thought", "value", "gave away"]);

export class Moves {
  /**
   * @param {import("./document.js").MatchDocument} match
   * @param {(at: number) => void} go
   */
  constructor(match, go) {
    this.match = match;
    this.go = go;
    this.at = 0;
    this.height = USUAL_HEIGHT;
    this.headHeight = USUAL_HEIGHT;
    this.measured = false;
    /** @type {Map<number, object>} grades by ply and seat */
    this.grades = new Map();
    /** @type {Map<number, number[]>} luck of a move for its seat, or for each seat at a chance event, by ply and seat */
    this.lucks = new Map();
    /** units of values and losses, and of luck, if they are not scores */
    this.unit = this.luckUnit = undefined;
    this.wrong = null;
    this.rows = new Map();
    this.head = el("tr", {}, ...COLUMNS.map((name) => el("th", { scope: "col", class: NUMBERS.has(name) ? "number" : null, "data-column": name }, name)));
    [this.above, this.below] = [spacer(), spacer()];
    this.body = el("tbody", {}, this.above, this.below);
    this.table = el("table", { "data-on-map": Boolean(match.header.config.map) }, el("caption", { class: "quiet" }, "every move of the match"), el("thead", {}, this.head), this.body);
    this.element = el("div", { class: "moves", tabindex: 0, role: "region", "aria-label": "moves", onscroll: () => this.#draw() }, this.table);
    this.body.addEventListener("click", (event) => this.#pressed(event));
    new ResizeObserver(() => this.#resized()).observe(this.element);
    this.refresh();
  }

  /** Update the list after the match has grown or changed. */
  refresh() {
    const { match } = this;
    const infos = match.plies.flatMap((_, index) => match.infos(index + 1).map(({ info }) => info));
    const used = {
      value: infos.some(({ value }) => Number.isFinite(value)),
      note: infos.some(({ note }) => note),
      luck: this.lucks.size > 0,
      "gave away": this.grades.size > 0,
    };
    for (const [name, isUsed] of Object.entries(used)) put(this.table, `data-no-${name.replace(" ", "-")}`, !isUsed);
    put(this.table, "aria-rowcount", match.last + 1);
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.#draw();
  }

  /**
   * Add the grades and the luck of the moves.
   * @param {{moves: {ply: number, seat: number, gave_away: number, best: object}[],
   *   luck?: {events: {ply: number, seat: number, luck: number[]}[], unit?: string}, unit?: string}} report
   */
  grade({ moves, luck, unit }) {
    this.unit = unit;
    this.luckUnit = luck?.unit;
    this.grades = new Map(moves.map((move) => [`${move.ply} ${move.seat}`, move]));
    this.lucks = new Map((luck?.events ?? []).map(({ ply, seat, luck: given }) => [`${ply} ${seat}`, seat < 0 ? given : [given[seat]]]));
    this.refresh();
    this.show(this.at);
  }

  /**
   * Return the grade of a position's event, if there is one.
   * @param {number} at
   */
  gradeOf(at) {
    return this.#ofMove(this.grades, at);
  }

  /**
   * Return the luck of a position's event: that of the mover, or of each seat for a deal or a round.
   * @param {number} at
   */
  luckOf(at) {
    return this.#ofMove(this.lucks, at);
  }

  /** Return a move's grade or luck if the point of view may see it: everything, or the mover's. */
  #ofMove(told, at) {
    const event = this.match.line(at)?.event;
    const isTold = event && event.out === undefined && [ALL_EYE, event.seat].includes(this.match.eye);
    return isTold ? told.get(`${event.ply} ${event.seat}`) : undefined;
  }

  /**
   * Mark the position at which the record is wrong, or none.
   * @param {number | null} at
   */
  blame(at) {
    this.wrong = at;
    this.refresh();
  }

  /**
   * Mark a position and scroll it into view.
   * @param {number} at
   */
  show(at) {
    const before = this.rows.get(this.at);
    if (before) put(before, "aria-current", null);
    this.at = at;
    this.#draw();
    this.#reveal(at);
    this.#draw();
    const row = this.rows.get(at);
    if (row) put(row, "aria-current", "true");
  }

  /** Scroll as little as needed to show a row, with a whole row below the head. */
  #reveal(at) {
    const head = this.headHeight;
    const top = (at - 1) * this.height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight - head)
      this.element.scrollTop = Math.ceil((top + this.height - clientHeight + head) / this.height) * this.height;
  }

  #pressed(event) {
    const row = event.target.closest("tr[data-at]");
    if (!row) return;
    event.preventDefault();
    this.go(Number(row.dataset.at));
  }

  #draw() {
    const { last } = this.match;
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(1, Math.floor(scrollTop / this.height) - EXTRA_ROWS);
    const end = Math.min(last, Math.ceil((scrollTop + clientHeight) / this.height) + EXTRA_ROWS);
    for (const [at, row] of this.rows) {
      if (at >= first && at <= end) continue;
      row.remove();
      this.rows.delete(at);
    }
    let next = this.below;
    for (let at = end; at >= first; at--) {
      if (!this.rows.has(at)) {
        this.rows.set(at, this.#row(at));
        next.before(this.rows.get(at));
      }
      next = this.rows.get(at);
    }
    if (!this.measured) this.#measure(this.rows.get(first));
    this.above.firstChild.style.setProperty("height", `${(first - 1) * this.height}px`);
    const room = clientHeight - this.headHeight;
    const rest = last * this.height > room ? room % this.height : 0; // lets the last row be reached with a whole row on top
    this.below.firstChild.style.setProperty("height", `${Math.max(0, last - end) * this.height + rest}px`);
  }

  #resized() {
    this.measured = false;
    this.show(this.at);
  }

  #measure(row) {
    const height = row?.getBoundingClientRect().height;
    if (!height) return;
    this.measured = true;
    this.height = height;
    this.headHeight = this.head.offsetHeight;
  }

  #row(at) {
    const { header } = this.match;
    const { event } = this.match.line(at);
    const infos = this.match.infos(at).map(({ info }) => info);
    const values = infos.map(({ value }) => shortValue(value)).filter(Boolean);
    const notes = infos.map(({ note }) => note).filter(Boolean);
    const strikes = this.match.strikesAt(at);
    const thoughts = this.match.thoughts(at).map(({ ms }) => durationText(ms));
    const grade = this.gradeOf(at);
    const luck = this.luckOf(at);
    const who = actorsOf(event);
    const bots = who.map((seat) => header.seats[seat].bot);
    const bot = who.length ? [...who.map(makeSeatSymbol), el("span", { class: "quiet" }, listed(bots))] : ["chance"];
    const said = boardClass(header.game).eventText(header.config, event, header.seats);
    const words = el("span", {}, said);
    if (strikes.length) words.prepend(el("span", { class: "bad" }, `${strikes.length === 1 ? "strike" : `${strikes.length} strikes`}, then `));
    const given = grade ? lossText(grade.gave_away, this.unit) : "";
    return el(
      "tr",
      { "data-at": at, "aria-rowindex": at + 1, "aria-current": at === this.at ? "true" : null, class: at === this.wrong ? "wrong-ply" : null },
      el("th", { scope: "row" }, el("a", { href: addressOf(this.match, at) }, at)),
      el("td", { title: who.length ? listed(bots) : null }, ...bot),
      el("td", { class: event.out === undefined ? "move" : "move bad", title: said }, words),
      el("td", { class: grade?.gave_away ? "number bad" : "number", "data-column": "gave away" }, given),
      el("td", { class: "number", "data-column": "luck" }, (luck ?? []).map((each) => luckText(each, this.luckUnit)).join(" ")),
      el("td", { class: "number", "data-column": "thought" }, thoughts.join(", ")),
      el("td", { class: "number", "data-column": "value" }, values.join(", ")),
      el("td", { class: "note", "data-column": "note" }, notes.join(" · ")),
    );
  }
}

function spacer() {
  return el("tr", { class: "spacer", "aria-hidden": "true" }, el("td", { colspan: COLUMNS.length }));
}
