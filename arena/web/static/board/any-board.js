/**
 * The board of a game that has no script of its own. The server draws each state by the game's rules: as a grid whose cells
 * can be pressed, or as a text. Moves without cells are buttons. Until the drawing is there, or if it can't be had, the
 * state is listed field by field.
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

export class AnyBoard extends Board {
  #drawings = new Map(); // promises by address, the oldest first
  #isDrawn = false; // whether the server has drawn a state
  #from = null; // the cell that was pressed first, for moves from one cell to another
  /** @type {{move: object, text: string, cells: DrawnMove["cells"]}[]} */
  #moves = [];

  constructor(match, game) {
    super(match, game);
    put(this.element, "class", `board board-any board-${game}`);
    this.text = el("pre", { class: "any-text" });
    this.grid = el("table", { class: "any-grid", hidden: true });
    this.face.append(this.text, this.grid);
    this.filter = el("input", { type: "search", placeholder: "filter moves", "aria-label": "filter moves", hidden: true, oninput: () => this.#showButtons() });
    this.buttons = el("div", { class: "any-moves", role: "group", "aria-label": "your moves" });
    this.more = el("p", { class: "quiet" });
    this.controls.append(this.filter, this.buttons, this.more);
    this.roving = new Roving(this.grid, (cell) => this.#press(cell));
  }

  draw() {
    this.#from = null;
    const { state } = this;
    const legal = this.isPlayable ? this.view.legal : [];
    this.#moves = legal.map((move) => ({ move, text: plainMove(move), cells: [] }));
    this.roving.offer([]);
    this.#showButtons();
    if (!this.#isDrawn) say(this.text, plainState(state));
    this.#drawing(state, legal).then(
      (drawing) => this.state === state && this.#show(drawing, legal),
      () => this.state === state && this.#show({ text: plainState(state), grid: null, marks: [], moves: [] }, legal),
    );
  }

  get instructions() {
    return "Press a cell of the board, or choose a move below it.";
  }

  get listsMoves() {
    return this.#moves.every(({ cells }) => cells.length === 0);
  }

  static moveText(config, move) {
    return plainMove(move);
  }

  static dealText(move) {
    return typeof move?.outcome === "number" ? `gives outcome ${move.outcome + 1}` : "gives a hidden outcome";
  }

  #drawing(state, legal) {
    if (gameData(this.game) === undefined) return Promise.reject(new Error(`the server can't draw ${this.game}`));
    const address = drawingAddress(this.game, this.config, state, legal);
    if (!this.#drawings.has(address)) {
      const drawing = fetchJson(address);
      this.#drawings.set(address, drawing);
      drawing.catch(() => this.#drawings.delete(address)); // so that it is asked for again
    }
    if (this.#drawings.size > MAX_DRAWINGS) this.#drawings.delete(this.#drawings.keys().next().value);
    return this.#drawings.get(address);
  }

  #show({ text, grid, marks, moves }, legal) {
    this.#isDrawn = true;
    put(this.text, "hidden", grid !== null);
    put(this.grid, "hidden", grid === null);
    say(this.text, text ?? "");
    if (grid !== null) this.#fillGrid(grid, marks);
    this.#moves = legal.map((move, at) => ({ move, text: moves[at]?.text ?? plainMove(move), cells: moves[at]?.cells ?? [] }));
    this.#offer();
  }

  #fillGrid(grid, marks) {
    const rows = grid.map((row, y) => el("tr", {}, ...row.map((mark, x) => makeCell(y, x, mark, marks.indexOf(mark)))));
    this.grid.replaceChildren(...rows);
  }

  /** Offer the cells that begin a move, or go on with the one that was begun. */
  #offer() {
    const names = new Map();
    for (const { text, cells } of this.#moves) {
      const next = this.#from === null ? cells[0] : sameCell(cells[0], this.#from) ? cells[1] : undefined;
      for (const cell of next ? this.#cellsAt(next) : []) names.set(cell, names.has(cell) ? `${names.get(cell)}, ${text}` : text);
    }
    for (const cell of this.grid.querySelectorAll("td")) put(cell, "data-from", this.#from !== null && sameCell(this.#from, placeOf(cell)));
    this.roving.offer([...names]);
    this.#showButtons();
  }

  #cellsAt([row, column]) {
    return [...this.grid.querySelectorAll("td")].filter((cell) => sameCell([row, column], placeOf(cell)));
  }

  #press(cell) {
    const place = placeOf(cell);
    const step = this.#from === null ? 0 : 1;
    const begun = this.#moves.filter(({ cells }) => step === 0 || sameCell(cells[0], this.#from));
    const fitting = begun.filter(({ cells }) => cells[step] && sameCell(cells[step], place));
    const ended = fitting.filter(({ cells }) => cells.length === step + 1);
    if (ended.length === 1 && fitting.length === 1) this.choose(ended[0].move);
    else if (ended.length > 0) this.#showButtons(fitting); // such as the pieces that a pawn can become
    else if (fitting.length > 0 && step === 0) {
      this.#from = place;
      this.#offer();
    } else {
      this.#from = null;
      this.#offer();
    }
  }

  /** Show moves as buttons: those that have no cells, or those among which a pressed cell leaves a choice. */
  #showButtons(among = this.#moves.filter(({ cells }) => cells.length === 0)) {
    const wanted = this.filter.value.trim().toLowerCase();
    put(this.filter, "hidden", among.length <= MAX_BUTTONS);
    const found = among.filter(({ text }) => among.length <= MAX_BUTTONS || text.toLowerCase().includes(wanted));
    this.buttons.replaceChildren(...found.slice(0, MAX_BUTTONS).map(({ move, text }) => el("button", { type: "button", onclick: () => this.choose(move) }, text)));
    say(this.more, found.length > MAX_BUTTONS ? `${found.length - MAX_BUTTONS} more moves: type a part of yours` : "");
    put(this.controls, "hidden", among.length === 0);
  }
}

function makeCell(row, column, mark, seat) {
  return el("td", { class: seat >= 0 ? `held seat-${seat}` : null, "data-row": row, "data-column": column }, mark);
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
