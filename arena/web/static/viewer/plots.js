/** Plots of bots' evaluations and thinking times by move, with a cursor. */

import { makeSeatSymbol } from "../board/seat-symbols.js";
import { el, put, say, svg } from "../dom.js";
import { durationText, shortValue } from "../format.js";

const HEIGHT = 100;

/** Two plots above the time line. Calls `go(at)` for a press on a position. */
export class Plots {
  /**
   * @param {import("./document.js").MatchDocument} match
   * @param {(at: number) => void} go
   */
  constructor(match, go) {
    this.match = match;
    this.values = makePlot("the bots’ evaluations of their positions", go);
    this.times = makePlot("thinking time", go);
    const note = el("p", { class: "quiet" }, "The list of moves has the numbers of both plots.");
    this.element = el("div", { class: "plots" }, this.values.element, this.times.element, note);
    this.refresh();
  }

  /** Draw the plots. */
  refresh() {
    const { match } = this;
    for (const plot of [this.values, this.times]) {
      put(plot.picture, "viewBox", `0 0 ${Math.max(1, match.last)} ${HEIGHT}`);
      plot.last = Math.max(1, match.last);
    }
    const values = valuePaths(match);
    drawPlot(this.values, values.map(({ d }) => d), "line");
    put(this.values.element, "hidden", values.every(({ d }) => !d));
    this.values.scale.replaceChildren("each bot on its own scale: ", ...values.flatMap(({ d, most }, seat) => (d ? [scaleOf(match, seat, most)] : [])));
    const times = timePaths(match);
    drawPlot(this.times, times.paths, "bars");
    put(this.times.element, "hidden", times.most === 0);
    say(this.times.scale, `up to ${durationText(times.most)}, including a bot's pauses`);
  }

  /**
   * Move the cursor to a position.
   * @param {number} at
   */
  show(at) {
    for (const { cursor } of [this.values, this.times]) put(cursor, "d", `M${at} 0V${HEIGHT}`);
  }
}

function makePlot(name, go) {
  const lines = svg("g");
  const cursor = svg("path", { class: "cursor" });
  const picture = svg("svg", { class: "plot", preserveAspectRatio: "none", role: "img", "aria-label": `${name} by move` }, lines, cursor);
  const scale = el("span", { class: "faint" });
  const element = el("figure", {}, el("figcaption", {}, `${name} by move, `, scale), picture);
  const plot = { element, picture, lines, cursor, scale, last: 1 };
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * plot.last));
  });
  return plot;
}

function drawPlot(plot, paths, kind) {
  plot.lines.replaceChildren(...paths.map((d, seat) => svg("path", { class: `${kind} seat-${seat}`, d })));
}

/** Return a line for each seat with zero in the middle. Each has its own scale: bots' evaluations are not comparable. */
function valuePaths(match) {
  const said = match.header.seats.map(() => []);
  for (let at = 1; at <= match.last; at++) {
    for (const { seat, info } of match.infos(at)) if (Number.isFinite(info.value)) said[seat]?.push([at, info.value]);
  }
  return said.map((points) => {
    const most = points.reduce((so, [, value]) => Math.max(so, Math.abs(value)), 0);
    const drawn = points.map(([at, value]) => `${at} ${(HEIGHT / 2 - ((value / (most || 1)) * (HEIGHT - 8)) / 2).toFixed(1)}`);
    return { d: drawn.length ? `M${drawn.join("L")}` : "", most };
  });
}

function scaleOf({ header }, seat, most) {
  return el("span", { class: "plot-scale" }, makeSeatSymbol(seat), `${header.seats[seat].bot} ± ${shortValue(most)}`);
}

function timePaths(match) {
  const times = match.plies.flatMap((_, index) => match.thoughts(index + 1).map((thought) => ({ at: index + 1, ...thought })));
  const most = times.reduce((so, { ms }) => Math.max(so, ms), 0);
  const paths = match.header.seats.map(() => "");
  for (const { at, seat, ms } of most ? times : []) paths[seat] += `M${at} ${HEIGHT}V${(HEIGHT - (96 * ms) / most).toFixed(1)}`;
  return { paths, most };
}
