/** All that is known of the move that is shown: thinking, value, note, refused moves, the grade, what was verified. */

import { notation } from "../board/move-text.js";
import { el } from "../dom.js";
import { clockText, durationText, lossText, luckText, valueText, worthText } from "../format.js";
import { stepItem } from "./verification.js";

export class Now {
  /**
   * @param {import("./document.js").MatchDocument} match
   * @param {(at: number) => object | undefined} gradeOf
   * @param {(at: number) => number | undefined} luckOf points that the dice of a move gave
   * @param {(at: number) => {ok: boolean | null, text: string}[]} stepsOf what was recomputed at a position
   */
  constructor(match, gradeOf, luckOf, stepsOf) {
    this.match = match;
    this.gradeOf = gradeOf;
    this.luckOf = luckOf;
    this.stepsOf = stepsOf;
    this.facts = el("dl", { class: "now-facts" });
    this.steps = el("ul", { class: "now-steps" });
    this.element = el("div", { class: "now" }, this.facts, this.steps);
  }

  /**
   * Tell of a position.
   * @param {number} at
   */
  show(at) {
    this.facts.replaceChildren(...this.#facts(at).flatMap(([name, ...said]) => [el("dt", {}, name), el("dd", {}, ...said)]));
    this.steps.replaceChildren(...this.stepsOf(at).map(stepItem));
  }

  #facts(at) {
    if (!at) return [];
    const { match } = this;
    const { event, info = {}, given } = match.line(at);
    const facts = [];
    for (const { message } of match.strikesAt(at)) facts.push(["refused", el("span", { class: "bad" }, message)]);
    const thoughts = match.thoughts(at);
    const back = given ? `, ${durationText(given)} given back` : "";
    for (const { seat, ms } of thoughts) {
      const who = thoughts.length > 1 ? `${match.header.seats[seat].bot}: ` : "";
      facts.push(["thought", `${who}${durationText(ms)}${back}; ${clockText(match.clock(at)[seat])} on the clock`]);
    }
    const searched = [
      Number.isFinite(info.value) ? `value ${valueText(info.value)} on its own scale` : "",
      Number.isFinite(info.depth) ? `depth ${info.depth}` : "",
      Number.isFinite(info.nodes) ? `${info.nodes.toLocaleString("en")} nodes` : "",
    ].filter(Boolean);
    if (searched.length) facts.push(["bot says", searched.join(", ")]);
    if (info.note) facts.push(["bot notes", el("span", { class: "note" }, info.note)]);
    const luck = this.luckOf(at);
    if (luck !== undefined) facts.push(["luck", `the dice gave ${match.header.seats[event.seat].bot} ${luckText(luck)} of the point`]);
    const grade = this.gradeOf(at);
    if (grade) facts.push(["grade", gradeText(grade, match.header)]);
    return facts;
  }
}

function gradeText({ seat, value, gave_away: given, best, best_value: bestValue }, { game, config }) {
  if (!given) return `the best there was, worth ${worthText(value)}`;
  return el("span", { class: "bad" }, `gave away ${lossText(given)}: worth ${worthText(value)}; ${notation(game, config, best, seat)} was worth ${worthText(bestValue)}`);
}
