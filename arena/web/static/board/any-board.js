/**
 * The board of a game that has no script of its own. The server draws each state by the game's rules: as a grid whose cells
 * can be pressed, or as a text. Moves without cells are buttons. If the drawing can't be had, the state is listed field by
 * field.
 */

import { drawingAddress, fetchJson } from "../api.js";
import { el, put, say } from "../dom.js";
import { gameData } from "../games.js";
import { Board } from "./board.js";
import { Roving } from "./roving-tabindex.js";

const MAX_BUTTONS = 40; // more than these are filtered by a text
const MAX_DRAWINGS = 500; // that are kept
const MESSAGE_FIELDS = new Set(["to_move", "ply"]);

/**
 * @typedef {object} DrawnMove
 * @property {string} text
 * @property {[number | null, number | null][]} cells row and column; null stands for any
 */

/**
 * @typedef {object} DrawnGrid as the API describes it
 * @property {string[][]} cells
 * @property {Record<string, number>} owners
 * @property {string[]} row_labels
 * @property {string[]} column_labels
 * @property {[number, number][]} highlights
 * @property {boolean} checkered
 * @property {boolean} rotates
 */

export class AnyBoard extends Board {
  /** @type {Map<string, {drawing: Promise<object>, hasMoves: boolean}>} by state, the oldest first */
  #drawings = new Map();
  #from = null; // the cell that was pressed first, for moves from one cell to another
  #isTurned = false; // whether the person turned the board
  /** @type {{move: object, text: string, cells: DrawnMove["cells"]}[]} */
  #moves = [];

  constructor(match, game) {
    super(match, game);
    put(this.element, "class", `board board-any board-${game}`);
    this.text = el("pre", { class: "any-text" });
    this.grid = el("table", { class: "any-grid", hidden: true });
    this.turn = el("button", { type: "button", class: "any-turn", hidden: true, onclick: () => this.#turnAround() }, "Turn the board");
    this.face.append(this.text, this.grid, this.turn);
    this.hint = el("p", { class: "hint" });
    this.filter = el("input", { type: "search", placeholder: "filter moves", "aria-label": "filter moves", hidden: true, oninput: () => this.#showButtons() });
    this.buttons = el("div", { class: "any-moves", role: "group", "aria-label": "your moves" });
    this.more = el("p", { class: "quiet" });
    this.controls.append(this.hint, this.filter, this.buttons, this.more);
    this.roving = new Roving(this.grid, (cell) => this.#press(cell));
  }

  draw() {
    this.#from = null;
    const { state, view } = this;
    const legal = this.isPlayable ? view.legal : [];
    this.#moves = legal.map((move) => ({ move, text: plainMove(move), cells: [] }));
    this.roving.offer([]);
    this.#showButtons();
    this.#drawing(state, legal).then(
      (drawing) => this.view === view && this.#show(drawing, legal),
      () => this.view === view && this.#show({ text: plainState(state), grid: null, moves: [] }, legal),
    );
  }

  get listsMoves() {
    return this.#moves.every(({ cells }) => cells.length === 0);
  }

  static moveText(config, move) {
    return plainMove(move);
  }

  /** Name an event as the rules do, if its result is a name, such as Nf3 for g1f3. */
  static eventText(config, event, seats) {
    const [name, ...others] = Object.values(event.result ?? {});
    if (typeof name !== "string" || name === "" || others.length > 0) return super.eventText(config, event, seats);
    return event.seat < 0 && !event.moves ? `gives ${name}` : name;
  }

  static dealText(move) {
    return typeof move?.outcome === "number" ? `gives outcome ${move.outcome + 1}` : "gives a hidden outcome";
  }

  #drawing(state, legal) {
    if (gameData(this.game) === undefined) return Promise.reject(new Error(`the server can't draw ${this.game}`));
    const key = JSON.stringify(state);
    const known = this.#drawings.get(key);
    if (known && (known.hasMoves || legal.length === 0)) return known.drawing;
    const drawing = fetchJson(drawingAddress(this.game, this.config, state, legal));
    this.#drawings.set(key, { drawing, hasMoves: legal.length > 0 });
    drawing.catch(() => this.#drawings.delete(key)); // so that it is asked for again
    if (this.#drawings.size > MAX_DRAWINGS) this.#drawings.delete(this.#drawings.keys().next().value);
    return drawing;
  }

  #show({ text, grid, moves }, legal) {
    put(this.text, "hidden", grid !== null);
    put(this.grid, "hidden", grid === null);
    put(this.turn, "hidden", !grid?.rotates);
    if (grid === null) this.#writeText(text);
    else this.#fillGrid(grid);
    this.#moves = legal.map((move, at) => ({ move, text: moves[at]?.text ?? plainMove(move), cells: moves[at]?.cells ?? [] }));
    this.#offer();
    this.restoreFocus();
  }

  #writeText(text) {
    say(this.text, text);
    const lines = text.split("\n");
    this.text.style.setProperty("--columns", Math.max(...lines.map(({ length }) => length)));
    this.text.style.setProperty("--rows", lines.length);
  }

  /** @param {DrawnGrid} grid */
  #fillGrid(grid) {
    this.drawn = grid;
    const { cells, checkered } = grid;
    const [height, width] = [cells.length, Math.max(0, ...cells.map((row) => row.length))];
    const isTurned = grid.rotates && (this.view.seat === 1) !== this.#isTurned;
    const layout = JSON.stringify([cells.map((row) => row.length), grid.row_labels, grid.column_labels, isTurned]);
    if (this.grid.dataset.layout !== layout) this.#layOut(grid, isTurned);
    put(this.grid, "data-layout", layout);
    put(this.grid, "data-checkered", checkered);
    this.grid.style.setProperty("--rows", height + (grid.column_labels.length > 0 ? 1 : 0));
    this.grid.style.setProperty("--columns", width + (grid.row_labels.length > 0 ? 1 : 0));
    this.grid.style.setProperty("--chars", Math.max(1, ...cells.flat().map((mark) => [...mark].length)));
    for (const cell of this.#cells) this.#fillCell(cell, grid);
    this.#markChanges(grid);
  }

  /** Make the cells of a grid, with the labels of its rows and columns. */
  #layOut({ cells, row_labels: rowLabels, column_labels: columnLabels }, isTurned) {
    const turned = (list) => (isTurned ? [...list].reverse() : list);
    const rows = cells.map((row, y) => {
      const label = rowLabels.length > 0 ? [el("th", { scope: "row" }, rowLabels[y] ?? "")] : [];
      return el("tr", {}, ...label, ...turned(row.map((_, x) => el("td", { "data-row": y, "data-column": x }))));
    });
    const heads = columnLabels.map((label) => el("th", { scope: "col" }, label));
    const corner = rowLabels.length > 0 ? [el("td", {})] : [];
    const foot = heads.length > 0 ? [el("tr", {}, ...corner, ...turned(heads))] : [];
    this.grid.replaceChildren(...turned(rows), ...foot);
  }

  get #cells() {
    return [...this.grid.querySelectorAll("[data-row]")];
  }

  #fillCell(cell, { cells, owners, highlights }) {
    const [row, column] = placeOf(cell);
    const mark = cells[row][column];
    put(cell, "class", mark in owners ? `held seat-${owners[mark]}` : null);
    put(cell, "data-dark", (row + column) % 2 === 1);
    put(cell, "data-highlight", highlights.some((place) => sameCell(place, [row, column])));
    say(cell, asText(mark));
  }

  /** Mark the cells that the last move changed. */
  async #markChanges({ cells }) {
    const { before, event } = this.view;
    const { view } = this;
    for (const cell of this.#cells) put(cell, "data-changed", null);
    const earlier = before && event ? (await this.#drawing(before, []).catch(() => null))?.grid : null;
    if (!earlier || this.view !== view) return;
    for (const cell of this.#cells) {
      const [row, column] = placeOf(cell);
      put(cell, "data-changed", earlier.cells[row]?.[column] !== cells[row][column]);
    }
  }

  #turnAround() {
    this.#isTurned = !this.#isTurned;
    this.#fillGrid(this.drawn);
    this.#offer();
  }

  /** Offer the cells that begin a move, or go on with the one that was begun. */
  #offer() {
    const names = new Map();
    if (this.#from !== null) names.set(this.#cellsAt(this.#from)[0], ["choose another"]); // it keeps the focus
    for (const { text, cells } of this.#moves) {
      const next = this.#from === null ? cells[0] : sameCell(cells[0], this.#from) ? cells[1] : undefined;
      for (const cell of next ? this.#cellsAt(next) : []) names.set(cell, [...(names.get(cell) ?? []), text]);
    }
    for (const cell of this.#cells) put(cell, "data-from", this.#from !== null && sameCell(this.#from, placeOf(cell)));
    this.roving.offer([...names].map(([cell, texts]) => [cell, this.#named(cell, texts)]));
    this.#showButtons();
  }

  /** Name a cell: "e2 ♙: e2e3, e2e4". */
  #named(cell, texts) {
    const [row, column] = placeOf(cell);
    const { row_labels: rowLabels, column_labels: columnLabels, cells } = this.drawn;
    const name = `${columnLabels[column] ?? ""}${rowLabels[row] ?? ""} ${cells[row][column]}`.trim();
    return `${name === "" ? "" : `${name}: `}${[...new Set(texts)].join(", ")}`;
  }

  focusTarget() {
    return super.focusTarget() ?? this.controls.querySelector("button");
  }

  #cellsAt([row, column]) {
    return this.#cells.filter((cell) => sameCell([row, column], placeOf(cell)));
  }

  #press(cell) {
    const place = placeOf(cell);
    const step = this.#from === null ? 0 : 1;
    const begun = this.#moves.filter(({ cells }) => step === 0 || sameCell(cells[0], this.#from));
    const fitting = begun.filter(({ cells }) => cells[step] && sameCell(cells[step], place));
    const ended = fitting.filter(({ cells }) => cells.length === step + 1);
    if (ended.length === 1 && fitting.length === 1) this.choose(ended[0].move);
    else if (ended.length > 0) this.#showButtons(fitting, "Choose one of these moves:"); // such as the pieces that a pawn can become
    else {
      this.#from = fitting.length > 0 && step === 0 ? place : null;
      this.#offer();
    }
    if (ended.length > 1) this.buttons.querySelector("button")?.focus();
  }

  /** Show moves as buttons: those that have no cells, or those among which a pressed cell leaves a choice. */
  #showButtons(among = this.#moves.filter(({ cells }) => cells.length === 0), hint = this.#hint(among)) {
    const wanted = this.filter.value.trim().toLowerCase();
    put(this.filter, "hidden", among.length <= MAX_BUTTONS);
    const found = among.filter(({ text }) => among.length <= MAX_BUTTONS || text.toLowerCase().includes(wanted));
    this.buttons.replaceChildren(...found.slice(0, MAX_BUTTONS).map(({ move, text }) => el("button", { type: "button", onclick: () => this.choose(move) }, text)));
    say(this.more, found.length > MAX_BUTTONS ? `${found.length - MAX_BUTTONS} more moves: type a part of yours` : "");
    say(this.hint, hint);
    put(this.hint, "hidden", hint === "");
    put(this.controls, "hidden", this.#moves.length === 0);
  }

  /** Return how to move now, where some moves have buttons. */
  #hint(buttoned) {
    if (this.#moves.length === 0) return "";
    if (buttoned.length === this.#moves.length) return "Choose a move:";
    const isStep = this.#from === null && this.#moves.some(({ cells }) => cells.length > 1);
    const press = this.#from === null ? "Press a marked cell of the board" : "Now press the cell where the move ends";
    return `${press}${isStep ? " where a move begins" : ""}${buttoned.length > 0 ? ", or choose a move:" : "."}`;
  }
}

/** Show symbols as text where browsers might show a coloured picture, which has no colour of a seat. */
function asText(mark) {
  return mark.replace(/\p{Extended_Pictographic}(?!\uFE0F)/gu, (symbol) => (/\p{Emoji_Presentation}/u.test(symbol) ? symbol : `${symbol}\uFE0E`));
}

function placeOf(cell) {
  return [Number(cell.dataset.row), Number(cell.dataset.column)];
}

function sameCell(one, other) {
  return one !== undefined && one.every((number, at) => number === null || other[at] === null || number === other[at]);
}

function plainMove(move) {
  const values = Object.values(move ?? {});
  return values.every((value) => typeof value !== "object" || value === null) ? values.join(" ") || "a hidden move" : JSON.stringify(move);
}

function plainState(state) {
  const fields = Object.entries(state).filter(([key]) => !MESSAGE_FIELDS.has(key));
  return fields.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join("\n");
}
