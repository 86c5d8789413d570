/** The viewer of a match: the board with its time line, the players, the details of the ply, and tabs. */

import { endingInWords } from "../board/ending-text.js";
import { isLoaded, makeBoard } from "../board/index.js";
import { el, put, say } from "../dom.js";
import { gameTitle } from "../titles.js";
import { addressOf, placeIn } from "./address.js";
import { Clocks } from "./clocks.js";
import { EyeSelect } from "./eye-select.js";
import { Moves } from "./moves.js";
import { Now } from "./ply-details.js";
import { Plots } from "./plots.js";
import { Tabs } from "./tabs.js";
import { Timeline } from "./timeline.js";
import { Verification } from "./verification.js";
import { ALL_EYE } from "./views.js";

const ADDRESS_DELAY_MS = 300; // ms
const TABS = ["Moves", "Plots", "Grades", "Verify", "Details"];
const OWN_KEYS = "input, select, textarea, [role=button], [role=tab]";

export class Viewer {
  /**
   * @param {HTMLElement} root the element to fill
   * @param {import("./document.js").MatchDocument} match
   * @param {{botAddress?: (bot: string) => string | null, rules?: string, details?: HTMLElement | null, mine?: number | null,
   *   of?: number | null}} [options]
   *   `rules`: the URL of the game's rules; `details`: more content of the page, for a tab; `mine`: the seat of the
   *   person who looks back; `of`: the seat to show first
   */
  constructor(root, match, { botAddress, rules, details = null, mine = null, of = null } = {}) {
    this.root = root;
    this.mine = mine;
    this.of = of;
    this.match = match;
    match.see(this.#named()?.eye ?? ALL_EYE);
    this.steps = new Map();
    this.go = (at) => this.timeline.go(at);
    this.board = isLoaded(match.header.game) ? makeBoard(match.header.game, match.header) : null;
    this.unseen = el("p", { class: "empty", hidden: true });
    this.clocks = new Clocks(match, this.board, botAddress);
    this.moves = new Moves(match, this.go);
    this.now = new Now(match, this.moves, (at) => this.steps.get(at) ?? []);
    this.plots = new Plots(match, this.go);
    this.timeline = new Timeline(match, (at) => this.#show(at));
    this.ending = el("div", { class: "ending", hidden: true });
    this.saying = el("p", { class: "saying" });
    this.eyeSelect = new EyeSelect(match.header.seats, (eye) => this.see(eye));
    const help = rules === undefined ? null : el("a", { href: rules, class: "help" }, "How to play");
    const last = this.board ? [this.board.eventElement] : [];
    this.tabs = new Tabs("about the match", TABS, () => this.moves.show(this.timeline.at));
    this.tabs.fill("Moves", this.now.element, this.moves.element);
    this.tabs.fill("Plots", this.plots.element);
    if (details) this.tabs.fill("Details", details);
    const stage = el("div", { class: "stage" }, this.unseen, ...(this.board ? [this.board.element] : []), this.timeline.element);
    const prompt = el("section", { class: "prompt", "aria-label": "the move that is shown" }, this.ending, el("div", { class: "row apart" }, this.saying, help), ...last, this.eyeSelect.element);
    root.replaceChildren(el("div", { class: "match viewer" }, this.clocks.element, stage, prompt, this.tabs.element));
    document.addEventListener("keydown", (event) => this.#key(event));
    addEventListener("hashchange", () => this.#follow());
    match.addEventListener("grown", () => this.#soon());
    this.#offerRecord();
    this.timeline.go(this.#position(this.#named()) ?? match.last);
  }

  /** Update with the next frame: a fast match does not draw every ply. */
  #soon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.refresh();
    });
  }

  /** Update after the match has grown or changed. */
  refresh() {
    this.moves.refresh();
    this.plots.refresh();
    this.timeline.refresh();
    this.#offerRecord();
  }

  /**
   * Change the point of view.
   * @param {import("./views.js").Eye} eye
   */
  see(eye) {
    this.match.see(eye);
    this.refresh();
  }

  /**
   * Offer to request grades for the moves of a seat, which takes a while.
   * @param {(seat: number) => Promise<void>} grade
   */
  async offerGrades(grade) {
    const { offerOf } = await import("./grades.js");
    this.tabs.fill("Grades", offerOf(this.match, grade, this.of));
  }

  /** Show the grades and luck from the API. */
  async grade(report) {
    this.moves.grade(report);
    this.now.show(this.timeline.at);
    const { gradesOf } = await import("./grades.js"); // loaded after the board
    this.tabs.fill("Grades", ...gradesOf(this.match, report, this.go, this.mine, this.of));
  }

  #show(at) {
    const { match } = this;
    const shown = this.board && match.state(at);
    put(this.unseen, "hidden", Boolean(shown));
    if (this.board) put(this.board.element, "hidden", !shown);
    if (shown) this.board.show(shown, at ? { event: match.line(at).event, before: match.state(at - 1), past: match.eventsTo(at) } : {});
    else say(this.unseen, this.#why());
    this.#tellEnd(at);
    say(this.saying, shown && this.ending.hidden ? this.board.statusText() : "");
    this.clocks.show(at);
    this.moves.show(at);
    this.plots.show(at);
    this.now.show(at);
    this.#keep(at);
  }

  /** Show at the last position who won, and how. */
  #tellEnd(at) {
    const { header, footer, last } = this.match;
    const isOver = Boolean(footer) && at === last;
    put(this.ending, "hidden", !isOver);
    if (!isOver) return;
    const bots = header.seats.map(({ bot }) => bot);
    const { headline, why } = endingInWords({ ...footer, game: header.game, config: header.config, bots, state: this.match.state(at), event: this.match.line(at)?.event });
    this.ending.replaceChildren(el("h2", {}, headline), el("p", {}, why));
  }

  /** Return why there is no board. */
  #why() {
    const { fault, footer, header, last } = this.match;
    if (!this.board) return `This page has no board for ${gameTitle(header.game)}.`;
    if (footer?.reason === "void" && !last) return "The match was called off before its first turn.";
    if (this.match.live && !last) return "The match starts when all players are ready.";
    return fault ?? "The board of this move is not known.";
  }

  /**
   * Store the position in the URL after a pause, because browsers limit how often a URL may change. A URL that somebody
   * changed meanwhile stays, and is followed.
   */
  #keep(at) {
    clearTimeout(this.keeping);
    const before = location.hash;
    const name = addressOf(this.match, at === this.match.last ? null : at); // later, the position may be lost
    this.keeping = setTimeout(() => {
      if (location.hash === before && name !== before) history.replaceState(history.state, "", name || location.pathname + location.search);
    }, ADDRESS_DELAY_MS);
  }

  #named() {
    return placeIn(location.hash, this.match.header.seats.length);
  }

  #position(named) {
    return named === null || named.ply === null ? null : this.match.position(named.ply);
  }

  #follow() {
    const named = this.#named();
    if (named !== null && named.eye !== this.match.eye) this.see(named.eye);
    const at = this.#position(named);
    if (at !== null && at !== this.timeline.at) this.timeline.go(at);
  }

  #key(event) {
    const target = event.target;
    const isOurs = target === document.body || this.root.contains(target);
    if (event.defaultPrevented || !isOurs || target.closest?.(OWN_KEYS)) return;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key.toLowerCase() === "v" && isPlain && !this.eyeSelect.element.hidden) this.eyeSelect.next();
    if (event.key === " " && target.closest?.("button, a, summary")) return;
    this.timeline.key(event);
  }

  /** Whether the match is completely known: spectators get neither all digests and strikes nor hidden information. */
  get #isTold() {
    return Boolean(this.match.footer) && this.match.recorded;
  }

  /** Offer what needs the complete record: the points of view, and the verification. */
  #offerRecord() {
    const { match } = this;
    this.eyeSelect.show(match.eye);
    if (!this.#isTold || this.verification) return;
    if (match.isHidden) put(this.eyeSelect.element, "hidden", null);
    this.#offerVerification();
  }

  #offerVerification() {
    this.verification = new Verification(
      this.match.record,
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
    this.tabs.fill("Verify", this.verification.element);
  }
}
