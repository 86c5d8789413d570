/** The time line of a match: a slider, steps, playback, marks, and keys. */

import { boardClass } from "../board/index.js";
import { el, put, say, svg } from "../dom.js";

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const DEFAULT_SPEED = 1; // moves per second
const ICONS = {
  first: "M3 3v10M13 3 5 8l8 5z",
  back: "M11 3 4 8l7 5z",
  play: "M5 3l8 5-8 5z",
  pause: "M5 3v10M11 3v10",
  on: "M5 3l7 5-7 5z",
  last: "M13 3v10M3 3l8 5-8 5z",
};
const MAX_CAPTURE_MARKS = 60; // marks of captures
const KEYS = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", " ": "play" };

/** The viewer's position in the match. Calls `show(at)` when it changes. */
export class Timeline {
  /**
   * @param {import("./document.js").MatchDocument} match
   * @param {(at: number) => void} show
   */
  constructor(match, show) {
    this.match = match;
    this.show = show;
    this.at = match.last;
    this.timer = 0;
    this.wrong = null;
    this.range = el("input", { type: "range", min: 0, class: "timeline-range", "aria-label": "position in the match", oninput: () => this.go(Number(this.range.value)) });
    this.marks = svg("svg", { class: "timeline-marks", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.buttons = Object.fromEntries(
      [["first", "first (Home)"], ["back", "back (←)"], ["play", "play (Space)"], ["on", "on (→)"], ["last", "last (End)"]].map(([name, title]) => [name, this.#button(name, title)]),
    );
    this.speed = el("select", { onchange: () => this.#restart() }, ...SPEEDS.map((speed) => el("option", { value: speed }, `${speed} a second`)));
    this.speed.value = String(DEFAULT_SPEED);
    this.place = el("output", { class: "timeline-place" });
    const steps = el("div", { class: "timeline-steps" }, ...Object.values(this.buttons), el("label", {}, el("span", { class: "quiet" }, "moves "), this.speed), this.place);
    this.element = el("div", { class: "timeline", role: "group", "aria-label": "time line" }, this.marks, this.range, steps);
    this.#measure();
  }

  /** Whether the last position is shown. */
  get isAtEnd() {
    return this.at >= this.match.last;
  }

  /**
   * Go to a position.
   * @param {number} at
   */
  go(at) {
    this.at = Math.min(Math.max(0, at), this.match.last);
    this.#draw();
    this.show(this.at);
  }

  /** Adapt to a grown match, following its end if that was shown. */
  refresh() {
    const follow = this.at >= Number(this.range.max);
    this.#measure();
    this.go(follow ? this.match.last : this.at);
  }

  /**
   * Handle a key.
   * @param {KeyboardEvent} event
   */
  key(event) {
    const name = KEYS[event.key];
    if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#press(name);
  }

  /**
   * Mark the position at which the record is wrong, or none.
   * @param {number | null} at
   */
  blame(at) {
    this.wrong = at;
    this.#mark();
  }

  /** Stop the playback. */
  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.#drawPlay();
  }

  #measure() {
    put(this.range, "max", this.match.last);
    this.#mark();
  }

  #button(name, title) {
    const icon = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
    return el("button", { type: "button", "data-step": name, title, "aria-label": title, onclick: () => this.#press(name) }, icon);
  }

  #press(name) {
    if (name === "play") return this.timer ? this.pause() : this.#play();
    this.pause();
    const places = { first: 0, back: this.at - 1, on: this.at + 1, last: this.match.last };
    return this.go(places[name]);
  }

  #play() {
    if (this.isAtEnd) this.go(0);
    this.timer = setInterval(() => this.#tick(), 1000 / Number(this.speed.value));
    this.#drawPlay();
  }

  #tick() {
    if (this.isAtEnd) this.pause();
    else this.go(this.at + 1);
  }

  #restart() {
    if (!this.timer) return;
    this.pause();
    this.#play();
  }

  #drawPlay() {
    const name = this.timer ? "pause" : "play";
    put(this.buttons.play.querySelector("path"), "d", ICONS[name]);
    put(this.buttons.play, "aria-label", `${name} (Space)`);
    put(this.buttons.play, "title", `${name} (Space)`);
  }

  #draw() {
    const { at, match } = this;
    if (Number(this.range.value) !== at) this.range.value = String(at);
    const place = `${at ? `move ${at}` : "start"} of ${match.last}`;
    put(this.element, "data-live", match.live && this.isAtEnd); // nothing to play until the visitor goes back
    put(this.range, "aria-valuetext", place);
    say(this.place, place);
    for (const name of ["first", "back"]) put(this.buttons[name], "disabled", at === 0);
    for (const name of ["on", "last"]) put(this.buttons[name], "disabled", this.isAtEnd);
  }

  /** Draw ticks: low for captures, high for refused moves and seats that left. */
  #mark() {
    const { match } = this;
    const Board = boardClass(match.header.game);
    const paths = { taken: "", trouble: "" };
    for (let at = 1; at <= match.last; at++) {
      const { event } = match.line(at);
      if (event.out !== undefined || match.strikesAt(at).length) paths.trouble += `M${at} 0V12`;
      else if (Board.isCapture(event)) paths.taken += `M${at} 6V12`;
    }
    if (this.wrong !== null) paths.wrong = `M${this.wrong} 0V12`;
    put(this.marks, "viewBox", `0 0 ${Math.max(1, match.last)} 12`);
    if (paths.taken.split("M").length > MAX_CAPTURE_MARKS) paths.taken = ""; // they would form a solid bar
    this.marks.replaceChildren(...Object.entries(paths).map(([name, d]) => svg("path", { class: name, d })));
  }
}
