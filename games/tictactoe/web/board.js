/** The board of tic-tac-toe: a cross for the first seat and a ring for the second. */

import { threeIn } from "./lines.js";

export default ({ Board, Roving, put, seatWithVerb, svg }) => {
  const CELLS = ["top left", "top", "top right", "left", "middle", "right", "bottom left", "bottom", "bottom right"]; // row by row
  const MARKS = ["M26 26 74 74M74 26 26 74", "M50 22a28 28 0 1 1-.1 0z"];

  class TicTacToeBoard extends Board {
    constructor(match, game) {
      super(match, game);
      this.marks = CELLS.map(() => svg("path", { class: "mark" }));
      this.cells = CELLS.map((_, cell) => makeCell(cell, this.marks[cell]));
      this.row = svg("path", { class: "three" });
      const lines = svg("path", { class: "lines", d: "M100 6V294M200 6V294M6 100H294M6 200H294" });
      this.face.append(svg("svg", { viewBox: "0 0 300 300", role: "group", "aria-label": "three by three cells" }, ...this.cells, lines, this.row));
      this.roving = new Roving(this.face, (part) => this.#press(Number(part.dataset.cell)));
    }

    draw() {
      const { cells, to_move: mover } = this.state;
      for (const [cell, mark] of cells.entries()) {
        put(this.marks[cell], "d", MARKS[mark ? mark - 1 : this.isPlayable ? mover : -1] ?? "");
        put(this.marks[cell], "class", mark ? "mark" : "mark free");
        put(this.cells[cell], "class", `cell${mark ? ` seat-${mark - 1}` : ` seat-${mover}`}${this.view.event?.move?.cell === cell ? " last" : ""}`);
      }
      const row = threeIn(cells);
      put(this.row, "d", row ? `M${centre(row[0])}L${centre(row[2])}` : "");
      put(this.row, "class", `three seat-${row ? cells[row[0]] - 1 : ""}`);
      this.roving.offer(this.isPlayable ? this.cells.map((part, cell) => [part, this.#named(cells, cell)]) : []);
    }

    get instructions() {
      return "Press a free cell to place your mark.";
    }

    describe(state) {
      const held = (mark) => CELLS.filter((_, cell) => state.cells[cell] === mark).join(", ") || "nothing";
      return `${this.player(0)} holds ${held(1)}; ${this.player(1)} holds ${held(2)}. ${super.describe(state)}`;
    }

    static moveText(config, move) {
      return CELLS[move.cell] ?? JSON.stringify(move);
    }

    static endingText(ended, winners) {
      return winners.length > 1 ? "the board is full" : seatWithVerb(ended, winners[0], "has three in a row", "have three in a row");
    }

    #named(cells, cell) {
      return `${CELLS[cell]}, ${cells[cell] ? this.player(cells[cell] - 1) : "free"}`;
    }

    #press(cell) {
      if (!this.state.cells[cell]) this.choose({ cell });
      else this.onRefuse(`That cell is taken by ${this.player(this.state.cells[cell] - 1)}: choose a free one.`);
    }
  }

  function makeCell(cell, mark) {
    const [x, y] = [(cell % 3) * 100, Math.floor(cell / 3) * 100];
    const ground = svg("rect", { x: 3, y: 3, width: 94, height: 94, rx: 6 });
    return svg("g", { transform: `translate(${x} ${y})`, "data-cell": cell }, ground, mark);
  }

  function centre(cell) {
    return `${(cell % 3) * 100 + 50} ${Math.floor(cell / 3) * 100 + 50}`;
  }

  return TicTacToeBoard;
};
