/** The viewer of a match: board, clocks, time line, plots, moves, what is known of each, the check of its dice. */

import { knows, makeBoard } from "../board/index.js";
import { el, put, say } from "../dom.js";
import { listed, signed } from "../format.js";
import { Clocks } from "./clocks.js";
import { Moves } from "./moves.js";
import { Now } from "./ply-details.js";
import { Plots } from "./plots.js";
import { Timeline } from "./timeline.js";
import { Verification } from "./verification.js";
import { worstMoves } from "./worst-moves.js";

const RESTED = 300; // ms
const OWN_KEYS = "input, select, textarea, [role=button]";

export class Viewer {
  /**
   * @param {HTMLElement} root what it fills
   * @param {import("./document.js").MatchDocument} match
   * @param {{botAddress?: (bot: string) => string | null, mine?: number | null}} [options] `mine` is the seat of the person who looks on
   */
  constructor(root, match, { botAddress, mine = null } = {}) {
    this.root = root;
    this.mine = mine;
    this.match = match;
    this.steps = new Map();
    const go = (at) => this.timeline.go(at);
    this.board = knows(match.header.game) ? makeBoard(match.header.game, match.header) : null;
    this.unseen = el("p", { class: "empty", hidden: true });
    this.clocks = new Clocks(match, botAddress);
    this.moves = new Moves(match, go);
    this.now = new Now(match, (at) => this.moves.gradeOf(at), (at) => this.moves.luckOf(at), (at) => this.steps.get(at) ?? []);
    this.plots = new Plots(match, go);
    this.timeline = new Timeline(match, (at) => this.#show(at));
    this.luck = el("p", { class: "quiet", hidden: true });
    this.worst = el("div");
    this.verifying = el("section", { "aria-label": "verification" });
    const stage = el("div", { class: "viewer-stage" }, this.unseen, ...(this.board ? [this.board.element] : []), this.timeline.element, this.plots.element);
    const side = el("div", { class: "viewer-side" }, this.now.element, this.moves.element, this.luck, this.worst, this.verifying);
    root.replaceChildren(el("div", { class: "viewer" }, this.clocks.element, stage, side));
    document.addEventListener("keydown", (event) => this.#key(event));
    addEventListener("hashchange", () => this.#follow());
    match.addEventListener("grown", () => this.#soon());
    this.#offerVerification();
    this.timeline.go(this.#named() ?? match.last);
  }

  /** Draw what has grown with the next picture: of a fast match not every ply. */
  #soon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.refresh();
    });
  }

  /** The match has grown, or more is known of it. */
  refresh() {
    this.moves.refresh();
    this.plots.refresh();
    this.timeline.refresh();
    this.#offerVerification();
  }

  /** Tell the grades of the moves, and their luck, as the API gives them. */
  grade(report) {
    this.moves.grade(report);
    this.now.show(this.timeline.at);
    this.worst.replaceChildren(worstMoves(this.match, report, (at) => this.timeline.go(at), this.mine));
    const { luck } = report;
    if (!luck?.events.length) return;
    const given = this.match.header.seats.map(({ bot }, seat) => `${bot} ${signed(luck.total[seat], 2)}`);
    say(this.luck, `The dice gave ${listed(given)} points, by ${luck.value}.`);
    put(this.luck, "hidden", false);
  }

  #show(at) {
    const { match } = this;
    const shown = this.board && match.state(at);
    put(this.unseen, "hidden", Boolean(shown));
    if (this.board) put(this.board.element, "hidden", !shown);
    if (shown) this.board.show(shown, at ? { event: match.line(at).event, before: match.state(at - 1) } : {});
    else say(this.unseen, this.#why());
    this.clocks.show(at);
    this.moves.show(at);
    this.plots.show(at);
    this.now.show(at);
    this.#keep(at);
  }

  /** Why there is no board to be seen. */
  #why() {
    const { fault, footer, header, last } = this.match;
    if (!this.board) return `There is no picture of ${header.game} here.`;
    if (footer?.reason === "void" && !last) return "The match was called off before its first turn.";
    if (this.match.live && !last) return "The match begins when all are ready.";
    return fault ?? "The board of this ply is not known.";
  }

  /** Keep the position in the address, when it has come to rest: browsers count how often an address is changed. */
  #keep(at) {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => {
      const name = at === this.match.last ? "" : `#ply=${this.match.named(at)}`; // at its end one is anyway
      if (location.hash !== name) history.replaceState(history.state, "", name || location.pathname + location.search);
    }, RESTED);
  }

  #named() {
    const name = new URLSearchParams(location.hash.slice(1)).get("ply");
    return name === null ? null : this.match.position(name);
  }

  #follow() {
    const at = this.#named();
    if (at !== null && at !== this.timeline.at) this.timeline.go(at);
  }

  #key(event) {
    const target = event.target;
    const isOurs = target === document.body || this.root.contains(target);
    if (event.defaultPrevented || !isOurs || target.closest?.(OWN_KEYS)) return;
    if (event.key === " " && target.closest?.("button, a, summary")) return;
    this.timeline.key(event);
  }

  /** A watcher is not told all digests and strikes: only a record can be verified. */
  #offerVerification() {
    if (!this.match.footer || !this.match.recorded || this.verification) return;
    const { header, start, plies, strikes, footer } = this.match;
    this.verification = new Verification(
      { header, start, plies, strikes, footer },
      {
        found: (steps) => {
          this.steps = steps;
          this.now.show(this.timeline.at);
        },
        wrong: (at) => {
          this.moves.blame(at);
          this.timeline.blame(at);
          if (at !== null) this.timeline.go(at);
        },
      },
    );
    this.verifying.replaceChildren(this.verification.element);
  }
}
