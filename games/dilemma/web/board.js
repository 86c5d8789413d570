/**
 * The board of the dilemma: the payoff matrix with the names of all choices, and the rounds so far. A person's choices
 * are the rows.
 */

import { abbreviations, playedIn } from "./rounds.js";

const MAX_DESCRIBED_CELLS = 4; // maximum cells of a matrix that is described in words

export default ({ Board, Choices, History, el, numberText, put, say, seatWithVerb, sentence }) => {
  const NOISY = {
    state: (state) => state,
    event: (event, eye) => (event.moves ? { ...event, moves: event.moves.map((move, seat) => (seat === eye ? move : null)) } : event),
  };

  class DilemmaBoard extends Board {
    #chosen = null; // the person's choice in the current round, and that round's number

    constructor(match, game) {
      super(match, game);
      this.short = match.config.choices.map(abbreviations);
      this.table = el("table", { class: "matrix" });
      this.history = new History(match.seats, "round");
      this.face.append(el("div", { class: "matrix-holder" }, this.table), this.history.element);
      this.choices = new Choices((move) => this.choose(move));
      this.controls.append(this.choices.element);
      this.ownRow = null;
    }

    draw() {
      const mine = this.view.seat ?? 0;
      if (this.ownRow !== mine) this.#build(mine);
      if (this.isPlayable || this.#chosen?.ply !== this.state.ply) this.#chosen = null;
      const own = this.#chosen?.choice;
      for (const [choice, { row }] of this.rows.entries()) put(row, "data-chosen", choice === own);
      const { last } = this.state;
      for (const [at, cell] of this.cells.entries()) {
        const [row, column] = [Math.floor(at / this.columns.length), at % this.columns.length];
        put(cell, "data-last", last !== null && last[mine] === row && last[1 - mine] === column);
      }
      this.#drawHistory(mine);
      this.choices.offer(this.isPlayable ? this.#options(mine) : []);
    }

    choose(move) {
      this.#chosen = { ply: this.state.ply, choice: move.choose };
      super.choose(move);
    }

    /** The sentence that the page shows while others have not chosen yet. */
    get choiceText() {
      return this.#chosen === null ? "" : `You chose ${this.config.choices[this.view.seat][this.#chosen.choice]}`;
    }

    get listsMoves() {
      return true;
    }

    get instructions() {
      return "Press a choice or its key. Both choices are shown at the same time, and you can't change yours.";
    }

    statusText() {
      const { ply, to_move: mover } = this.state;
      if (mover === null) return "";
      return `Round ${ply + 1}${this.#known}${this.view.seat === undefined ? ": both choose" : ""}`;
    }

    strength(seat) {
      const { payoffs, ply } = this.state;
      const mean = ply === 0 ? "" : `, ${numberText(payoffs[seat] / ply)} a round`;
      return { words: `${numberText(payoffs[seat])} in all${mean}`, short: numberText(payoffs[seat]), share: null, out: false };
    }

    describe(state) {
      const { last, payoffs, ply, to_move: mover } = state;
      const got = (seat) => `${this.player(seat)} has ${numberText(payoffs[seat])}`;
      const played = last === null ? "No round has been played yet" : `In round ${ply} ${this.player(0)} played ${this.config.choices[0][last[0]]}, ${this.player(1)} ${this.config.choices[1][last[1]]}`;
      return `${played}. ${got(0)}, ${got(1)}. ${mover === null ? "The game is over." : `Round ${ply + 1}${this.#known}: both choose at once.`}`;
    }

    /** Return the cells of a small matrix, "cooperate – defect 0 : 5", and the other settings. */
    static configText({ payoffs, choices: [mine, theirs], go_on: goesOn, ...more }) {
      const cells = payoffs.flatMap((row, one) => row.map((pair, other) => `${mine[one]} – ${theirs[other]}\u00a0${pair.map(numberText).join("\u00a0:\u00a0")}`));
      const chance = goesOn ? [`another round follows with a chance of ${goesOn}`] : [];
      return [...(cells.length > MAX_DESCRIBED_CELLS ? [] : cells), super.configText(more), ...chance].join("; ");
    }

    static moveText(config, move, seat = 0) {
      return config.choices[seat][move.choose] ?? JSON.stringify(move);
    }

    /** Return "cooperate, defect · 0 and 5", with the original choices where chance changed them, as far as known. */
    static roundText({ choices }, event) {
      const [{ chosen, played, payoffs }] = playedIn([event]);
      const named = (made) => made.map((choice, seat) => (choice === null ? "?" : choices[seat][choice])).join(", ");
      const changed = chosen.some((choice, seat) => choice !== null && choice !== played[seat]);
      return `${named(played)}${changed ? ` (chosen: ${named(chosen)})` : ""} · ${payoffs.map(numberText).join(" and ")}`;
    }

    /** Return "you defect, bob cooperate: you 5, bob 0". */
    static roundTextBySeat({ choices }, event, seats) {
      const [{ chosen, played, payoffs }] = playedIn([event]);
      const changed = (seat) => (chosen[seat] === null || chosen[seat] === played[seat] ? "" : ` (chosen: ${choices[seat][chosen[seat]]})`);
      const did = seats.map(({ bot }, seat) => `${bot} ${choices[seat][played[seat]]}${changed(seat)}`);
      return `${did.join(", ")}: ${seats.map(({ bot }, seat) => `${bot} ${numberText(payoffs[seat])}`).join(", ")}`;
    }

    /** Return what both were paid in all, the winner first. */
    static endingText({ state, ...ended }, [winner]) {
      if (!state?.payoffs) return undefined;
      const got = (seat) => numberText(state.payoffs[seat]);
      if (state.payoffs[0] === state.payoffs[1]) return `both got ${got(0)}`;
      return `${seatWithVerb(ended, winner, "got", "got")} ${got(winner)}, ${1 - winner === ended.you ? "you" : ended.bots[1 - winner]} ${got(1 - winner)}`;
    }

    /** With noise, each seat knows its own choices, and what noise made of them. */
    static viewsOf({ noise }) {
      return Number(noise) > 0 ? NOISY : null;
    }

    /** The number of rounds as text; empty if it is not known. */
    get #known() {
      return this.config.go_on === null ? ` of ${this.config.rounds}` : "";
    }

    #options(mine) {
      const names = this.config.choices[mine];
      const keys = this.short[mine].map((text) => text.toLowerCase());
      const isLetters = keys.every((key) => key.length === 1);
      return names.map((name, choice) => ({ name: sentence(name).replace(/\.$/, ""), key: isLetters ? keys[choice] : String(choice + 1), move: { choose: choice } }));
    }

    /** Build the matrix with this seat's choices as rows. */
    #build(mine) {
      this.ownRow = mine;
      const theirs = 1 - mine;
      const { choices, payoffs, noise } = this.config;
      const longest = Math.max(...payoffs.flat(2).map((payoff) => numberText(payoff).length));
      const who = (seat) => (seat === this.view.seat ? "you" : this.seats[seat].bot);
      this.columns = choices[theirs].map((name) => el("th", { scope: "col", class: `seat-${theirs}` }, name));
      this.rows = choices[mine].map((name) => ({ head: el("th", { scope: "row", class: `seat-${mine}` }, name) }));
      this.cells = [];
      for (const [row, each] of this.rows.entries()) {
        const cells = this.columns.map((_, column) => {
          const pair = mine === 0 ? payoffs[row][column] : payoffs[column][row];
          return el(
            "td",
            {},
            el("span", { class: "quiet" }, `${who(mine)} ${numberText(pair[mine])}, ${who(theirs)} ${numberText(pair[theirs])}`),
            el("span", { class: `payoff own seat-${mine}`, "aria-hidden": "true" }, numberText(pair[mine])),
            el("span", { class: `payoff theirs seat-${theirs}`, "aria-hidden": "true" }, numberText(pair[theirs])),
          );
        });
        this.cells.push(...cells);
        each.row = el("tr", {}, each.head, ...cells);
      }
      const corner = el("td", { class: "corner" }, el("span", { class: `own seat-${mine}` }, who(mine)), el("span", { class: `theirs seat-${theirs}` }, who(theirs)));
      const about = `payoffs of each choice of ${who(mine)} against each choice of ${who(theirs)}${Number(noise) ? `; chance changes one in ${Math.round(1 / Number(noise))} choices` : ""}`;
      this.table.replaceChildren(
        el("caption", { class: "quiet" }, about),
        el("thead", {}, el("tr", {}, corner, ...this.columns)),
        el("tbody", {}, ...this.rows.map(({ row }) => row)),
      );
      for (const [name, value] of Object.entries({ rows: this.rows.length, columns: this.columns.length, digits: longest })) this.table.style.setProperty(`--${name}`, value);
    }

    #drawHistory(mine) {
      const { choices } = this.config;
      const rounds = playedIn(this.view.past ?? []);
      const columns = rounds.map(({ number, played, chosen, payoffs }) => ({
        number,
        marks: played.map((choice, seat) => ({
          text: this.short[seat][choice],
          kind: `choice-${choice}${chosen[seat] !== null && chosen[seat] !== choice ? " flipped" : ""}`,
        })),
        title: `round ${number}: ${played.map((choice, seat) => choices[seat][choice]).join(", ")}; ${payoffs.map(numberText).join(" and ")}`,
      }));
      const { ply, payoffs } = this.state;
      this.history.show(columns, {
        names: this.seats.map(({ bot }, seat) => (seat === this.view.seat ? "you" : bot)),
        totals: payoffs.map(numberText),
        caption: ply === 0 ? "No round has been played yet" : `Rounds so far: ${ply}${this.#known}`,
        order: [mine, 1 - mine],
      });
    }
  }

  return DilemmaBoard;
};
