/** A match in which a person plays: the board, the clocks, the log, and the controls. */

import { endingOf, ordinal } from "../board/ending-text.js";
import { boardClass, makeBoard } from "../board/index.js";
import { moversOf } from "../board/movers.js";
import { withChance } from "../board/odds.js";
import { el, put, say } from "../dom.js";
import { listed, reasonInWords, sentence, timeControlText } from "../format.js";
import { Clocks } from "./clocks.js";
import { poolTitle } from "../titles.js";
import { makeEnding, offerNext, tellCalls } from "./match-end.js";
import { FrameQueue } from "./frame-queue.js";

const MAX_MOVE_BUTTONS = 60; // maximum legal moves shown as buttons
const MAX_LOG_ROWS = 300;

/**
 * @typedef {object} Ways the page's callbacks for a table
 * @property {(message: object) => boolean} send
 * @property {() => void} rematch
 * @property {(rival: string) => void} meet plays the same against another opponent
 * @property {() => void} leave
 * @property {(error: Error) => void} fail  the board can't be drawn
 * @property {(title: string) => void} entitle
 * @property {(start: object) => string} graded returns how the moves of such a match are graded: "exact", "estimated" or ""
 */

export class Table {
  over = false;
  /** Whether the person chose a move here. */
  hasChosen = false;
  #ways;
  #turn = null; // the last turn, which may not be shown yet
  #shown = null; // the state on the board
  #ended = ""; // the title of the page after the match
  #events = new Map(); // all known events, in order
  #past = []; // those up to the state on the board

  /**
   * @param {object} start the message `start`
   * @param {Ways} ways
   */
  constructor(start, ways) {
    this.start = start;
    this.match = start.match;
    this.rivals = start.seats.map(({ bot }) => bot).filter((_, seat) => seat !== start.seat);
    this.#ways = ways;
    this.board = makeBoard(start.game, start);
    this.board.onChoose = (move) => this.#choose(move);
    this.board.onRefuse = (text) => this.#explain(text);
    this.clocks = new Clocks(start.seats, start.seat, start.clock.bank_ms, (text) => say(this.alarm, text));
    this.pace = new FrameQueue(
      (frame) => this.#tryToShow(frame),
      (waiting) => put(this.skip, "hidden", waiting < 2),
    );
    this.#build();
    this.#ways.entitle(this.#matchTitle);
    this.#say("Waiting until all players are ready.");
  }

  /** Take a `turn` of this match. */
  turn(turn) {
    const again = this.#turn !== null && turn.ply <= this.#turn.ply && turn.digest === this.#turn.digest;
    if (again && turn.legal === undefined) return;
    this.#turn = turn;
    this.clocks.tell(turn.clock, turn.to_move);
    const event = this.#log(turn.events);
    const past = [...this.#events.values()];
    for (const { state, event: before, left, text } of again ? [] : this.board.steps(turn))
      this.pace.add({ state, event: before, past: past.slice(0, past.length - left), text }, this.#isMine(before));
    const frame = { turn, state: turn.state, event: again ? undefined : event, past };
    this.pace.add(frame, again || event === undefined || this.#isMine(event));
  }

  /** Take all events so far, if the match began before the page was loaded. */
  recall(events) {
    const known = this.#events; // a seat knows its own moves, which spectators may not see
    this.#events = new Map();
    this.log.replaceChildren();
    this.#log([...events.map((event) => known.get(keyOf(event)) ?? event), ...known.values()]);
    this.#past = [...this.#events.values()];
    if (this.board.state !== undefined) this.board.show(this.board.state, { ...this.board.view, past: this.#past });
  }

  /** Show that the arena refused a move. */
  rejected({ ply, code, message, strikes_left: left, clock_ms: clock }) {
    if (clock !== undefined) this.clocks.correct(this.start.seat, clock);
    const price =
      left === undefined
        ? ""
        : left === 0
          ? " That was the last strike."
          : ` ${left === 1 ? "One more such move loses" : `${left} more such moves lose`} the match.`;
    const known = left === undefined && (code === "stale_ply" || code === "no_such_match");
    if (!known) this.#explain(`${sentence(message)}${price}`);
    if (ply === this.#turn?.ply && left !== 0 && code !== "not_your_turn") this.#offer(this.#turn);
  }

  /** Show another message about this match, such as that it is on hold. */
  notice(text) {
    this.#explain(sentence(text));
  }

  /** Take the `end`, to be shown after all earlier frames. */
  end(end) {
    if (this.over) return;
    this.over = true;
    this.clocks.stop();
    const event = this.#log(end.events);
    const past = [...this.#events.values()];
    this.pace.add({ end, state: end.state, event, past }, event === undefined || this.#isMine(event));
  }

  /** End the match without its `end`, which was missed while the page was offline, or because its server stays away. */
  missed(isAway) {
    this.over = true;
    this.clocks.stop();
    this.pace.hurry();
    const away = { headline: "The match is interrupted", why: "Its server does not answer. Reload the page to check again." };
    this.#close(isAway ? away : { headline: "The match is over", why: "It ended while you were away." });
  }

  /** Take a `listing`: after the match, show calls for a rematch. */
  here(listing) {
    if (this.ending.hidden) return;
    const called = tellCalls(this.ending, this.start, listing);
    offerNext(this.ending, this.start, listing);
    this.#ways.entitle(called === "" ? this.#ended : `● ${called}`);
  }

  /** Stop and remove the match. */
  close() {
    this.pace.stop();
    this.clocks.stop();
    this.element.remove();
  }

  #build() {
    const { start } = this;
    this.title = poolTitle(start.game, start.preset);
    this.status = el("p", { class: "status", "aria-live": "polite" });
    this.saying = el("p", { class: "saying" });
    const help = el("a", { href: `/rules/${encodeURIComponent(start.game)}` }, "How to play");
    const terms = `${this.board.instructions} Each has ${timeControlText(start.clock)}.`.trim();
    this.alarm = el("p", { class: "alarm", role: "status" });
    this.wrong = el("p", { class: "wrong", role: "alert" });
    this.skip = el("button", { type: "button", onclick: () => this.pace.hurry(), hidden: true }, "Show all at once");
    this.moves = el(
      "details",
      { class: "moves", hidden: true },
      el("summary", {}, "Possible moves"),
      el("div", { class: "buttons" }),
    );
    this.log = el("ol", { class: "log", tabindex: 0, "aria-label": "what happened, latest first" });
    this.resign = el("button", { type: "button", onclick: () => this.asking.showModal() }, "Resign");
    this.asking = el(
      "dialog",
      { class: "asking", "aria-label": "Resign" },
      el("p", {}, "Resign this match? You lose it."),
      el(
        "form",
        { method: "dialog", class: "row" },
        el("button", { class: "main", value: "resign" }, "Resign"),
        el("button", { value: "" }, "Play on"),
      ),
    );
    this.asking.addEventListener("close", () => {
      if (this.asking.returnValue === "resign") this.#giveUp();
      this.asking.returnValue = "";
    });
    this.ending = el("div", { class: "ending", hidden: true });
    const page = el("a", { href: `/matches/${encodeURIComponent(start.match)}` }, "Link for spectators");
    this.asked = el(
      "div",
      { class: "asked" },
      el("div", { class: "row" }, this.status, this.resign),
      this.saying,
      el("p", { class: "small faint" }, el("span", { class: "terms" }, terms), " ", help, " · ", page),
    );
    this.past = el("div", { class: "tabbed" }, this.moves, el("h2", {}, "What happened"), this.log);
    const prompt = el(
      "section",
      { class: "prompt", "aria-label": "your move" },
      this.ending,
      this.asked,
      this.board.controls,
      this.wrong,
      this.alarm,
      this.board.eventElement,
      this.skip,
    );
    this.element = el(
      "section",
      { class: "match table", "aria-label": `match ${start.match}` },
      this.clocks.element,
      el("div", { class: "stage" }, this.board.element),
      prompt,
      this.past,
      this.asking,
    );
  }

  get #matchTitle() {
    return `${this.title} against ${this.rivals.join(", ")}`;
  }

  #isMine(event) {
    return event.seat === this.start.seat && event.out === undefined;
  }

  /** Log the new events, and return the last event. */
  #log(events) {
    for (const event of events) {
      const key = keyOf(event);
      if (this.#events.has(key)) continue;
      this.#events.set(key, event);
      this.log.prepend(el("li", { class: event.seat < 0 ? null : `seat-${event.seat}` }, this.#words(event)));
      if (this.log.childElementCount > MAX_LOG_ROWS) this.log.lastElementChild.remove();
      if (event.out !== undefined) this.clocks.players.note(event.seat, reasonInWords(event.out));
    }
    return events.at(-1);
  }

  #words(event) {
    const { game, config, seats, seat } = this.start;
    const named = seats.map(({ bot }, at) => ({ bot: at === seat ? "you" : bot }));
    if (event.moves) return `round ${event.ply + 1}: ${boardClass(game).roundTextBySeat(config, event, named)}`;
    const who =
      event.seat < 0 ? "chance" : named[event.seat].bot;
    return `${who}: ${boardClass(game).eventText(config, event, named)}`;
  }

  #tryToShow(frame) {
    try {
      this.#show(frame);
    } catch (error) {
      if (frame.end === undefined) this.#ways.fail(error);
      else this.#close({ headline: "The match is over", why: "This page cannot show how it ended." });
    }
  }

  #show({ turn, end, state, event, past, text }) {
    const { seat } = this.start;
    this.#past = past;
    const view = { event, before: this.#shown ?? undefined, seat };
    if (end !== undefined) {
      if (Object.keys(state).length > 0) this.#draw(state, view);
      this.#close(endingOf(end, this.start), end);
      return;
    }
    const told = event === undefined || this.#isMine(event) ? "" : `${this.#words(event)}.`;
    this.#shown = state;
    if (turn?.legal !== undefined && turn === this.#turn) {
      this.#offer(turn, view, told);
    } else {
      this.#draw(state, view);
      this.#list([]);
      this.#say(text ?? this.#whoseTurn(turn), told);
      this.#ways.entitle(this.#matchTitle);
    }
  }

  #whoseTurn(turn) {
    const { seat, seats } = this.start;
    const movers = moversOf(turn.to_move);
    const others = listed(movers.filter((mover) => mover !== seat).map((mover) => seats[mover].bot));
    if (!movers.includes(seat)) return `${others} ${movers.length === 1 ? "is" : "are"} to move.`;
    const hasMoved = turn === this.#turn && turn.legal === undefined;
    return hasMoved ? `You have chosen. Waiting for ${others} …` : "It is your turn.";
  }

  #draw(state, view) {
    this.board.show(state, { ...view, past: this.#past });
    this.clocks.players.show(state.to_move, this.board);
    say(this.saying, this.board.statusText());
  }

  /** Ask the person for a move. */
  #offer(turn, view = { seat: this.start.seat }, told = "") {
    this.#draw(turn.state, { ...view, legal: turn.legal, options: turn.options });
    this.#list(turn.legal, turn.state);
    this.#say("Your move.", told);
    this.#ways.entitle(`● Your turn – ${this.#matchTitle}`);
  }

  /** Show the legal moves as buttons, as an alternative to the board. */
  #list(legal, state) {
    const buttoned = legal.length > MAX_MOVE_BUTTONS || this.board.listsMoves ? [] : legal;
    put(this.moves, "hidden", buttoned.length === 0);
    const { game, config, seat } = this.start;
    const Words = boardClass(game);
    const buttons = buttoned.map((move) => {
      const words = withChance(Words.moveText(config, move, seat), Words.chanceOf(config, state, move));
      return el("button", { type: "button", onclick: () => this.board.choose(move) }, words);
    });
    this.moves.lastElementChild.replaceChildren(...buttons);
  }

  #choose(move) {
    this.hasChosen = true;
    this.#explain("");
    this.#list([]);
    const sent = this.#ways.send({ type: "move", match: this.match, ply: this.#turn.ply, move });
    this.#say(sent ? this.#sent() : "The connection is lost: choose again after it returns.");
  }

  /** Return the text after sending a move. In a round with simultaneous moves, the others are still to choose. */
  #sent() {
    const { seat, seats } = this.start;
    const others = moversOf(this.#turn.to_move).filter((mover) => mover !== seat);
    if (others.length === 0) return "Sent.";
    this.clocks.halt(seat);
    this.#ways.entitle(this.#matchTitle);
    return `${this.board.choiceText}. Waiting for ${listed(others.map((mover) => seats[mover].bot))} …`;
  }

  #giveUp() {
    if (!this.#ways.send({ type: "resign", match: this.match }))
      this.#explain("The connection is lost: try again after it returns.");
  }

  #close(result, end) {
    this.asking.close();
    this.#list([]);
    this.#explain("");
    this.asked.hidden = true;
    say(this.alarm, "");
    this.ending.replaceChildren(...makeEnding(result, end, this.start, this.#ways));
    const graded = this.#ways.graded(this.start);
    if (end?.seed !== undefined && graded !== "") this.#lookBack(graded);
    this.ending.hidden = false;
    this.ending.querySelector("h2").focus();
    this.#ended = `${result.headline}: ${this.#matchTitle}`;
    this.#ways.entitle(this.#ended);
    if (end === undefined || end.reason === "void" || end.seed === undefined) return;
    for (const [seat, rank] of end.ranks.entries()) this.clocks.players.place(seat, ordinal(rank));
  }

  async #lookBack(graded) {
    const script = await import("./look-back.js").catch(() => null); // loaded only after a match
    this.past.prepend(script?.lookBack(this.start, this.board, graded) ?? el("p", { class: "small faint" }, "Your moves were not graded: there was no answer from the server."));
  }

  /** Show whose turn it is. What happened before is on the board, and is only read out by screen readers. */
  #say(text, told = "") {
    this.status.replaceChildren(el("span", { class: "quiet" }, told === "" ? "" : `${told} `), text);
  }

  #explain(text) {
    say(this.wrong, text);
  }
}

/** Return a key that identifies an event within a match. */
function keyOf({ ply, seat, out }) {
  return `${ply} ${seat} ${out ?? ""}`;
}
