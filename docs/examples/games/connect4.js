/** The board of Connect Four for web pages. It imports nothing: `kit` has what a board is made of. */

export default ({ Board, Roving, el, put }) => {
  class ConnectFourBoard extends Board {
    constructor(match, game) {
      super(match, game);
      const { width, height } = match.config;
      this.cells = [...Array(height)].map((_, row) => [...Array(width)].map((_, column) => makeCell(height - 1 - row, column)));
      this.face.append(el("table", { class: "connect4" }, ...this.cells.map((row) => el("tr", {}, ...row))));
      this.roving = new Roving(this.face, (cell) => this.choose({ move: Number(cell.dataset.column) + 1 }));
    }

    draw() {
      const { columns, last } = this.state;
      for (const cell of this.cells.flat()) {
        const { row, column } = cell.dataset;
        const disc = columns[column][row];
        const isLast = Number(column) + 1 === last && Number(row) === columns[column].length - 1;
        put(cell, "class", `${disc ? `disc seat-${disc === "X" ? 0 : 1}` : ""}${isLast ? " last" : ""}`);
        cell.textContent = disc ?? "";
      }
      const free = this.isPlayable ? this.cells.flat().filter(({ dataset }) => Number(dataset.row) === columns[dataset.column].length) : [];
      this.roving.offer(free.map((cell) => [cell, `column ${Number(cell.dataset.column) + 1}`]));
    }

    get instructions() {
      return "Press the lowest free cell of a column.";
    }

    describe(state) {
      const columns = state.columns.map((discs, at) => `column ${at + 1}: ${[...discs].join(" ") || "empty"}`);
      return `${columns.join("; ")}. ${super.describe(state)}`;
    }

    static moveText(config, move) {
      return `column ${move.move}`;
    }
  }

  function makeCell(row, column) {
    return el("td", { "data-row": row, "data-column": column });
  }

  return ConnectFourBoard;
};
