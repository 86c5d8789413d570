/** The details of a move: thinking, evaluation, note, refused moves, grade, and verification. */

import { boardClass } from "../board/index.js";
import { el } from "../dom.js";
import { clockText, durationText, lossText, luckText, valueText, worthText } from "../format.js";
import { stepItem } from "./verification.js";

export class Now {
  /**
   * @param {import("./document.js").MatchDocument} match
   * @param {import("./moves.js").Moves} moves has the grades and luck
   * @param {(at: number) => {ok: boolean | null, text: string}[]} stepsOf returns the verified steps of a position
   */
  constructor(match, moves, stepsOf) {
    this.match = match;
    this.moves = moves;
    this.stepsOf = stepsOf;
    this.facts = el("dl", { class: "now-facts" });
    this.steps = el("ul", { class: "now-steps" });
    this.element = el("div", { class: "now" }, this.facts, this.steps);
  }

  /**
   * Show the details of a position.
   * @param {number} at
   */
  show(at) {
    this.facts.replaceChildren(...this.#facts(at).flatMap(([name, ...said]) => [el("dt", {}, name), el("dd", {}, ...said)]));
    this.steps.replaceChildren(...this.stepsOf(at).map(stepItem));
  }

  #facts(at) {
    if (!at) return [];
    const { match } = this;
    const { event, sealed = [] } = match.line(at);
    const facts = [];
    for (const { message } of match.strikesAt(at)) facts.push(["refused", el("span", { class: "bad" }, message)]);
    const thoughts = match.thoughts(at);
    for (const { seat, ms, given } of thoughts) {
      const back = given ? `, ${durationText(given)} given back` : "";
      const who = thoughts.length > 1 ? `${match.header.seats[seat].bot}: ` : "";
      facts.push(["thought", `${who}${durationText(ms)}${back}; ${clockText(match.clock(at)[seat])} on the clock`]);
    }
    const { game, config, seats } = match.header;
    for (const { seat, move } of event.out === undefined ? [] : sealed) facts.push(["no round", `${seats[seat].bot} had chosen ${boardClass(game).moveText(config, move, seat)}`]);
    for (const { seat, info } of match.infos(at)) facts.push(...thinking(info, sealed.length ? seats[seat].bot : "bot"));
    const luck = this.moves.luckOf(at);
    if (luck !== undefined) facts.push(["luck", diceText(luck, event.seat, match.header, this.moves.luckUnit)]);
    const grade = this.moves.gradeOf(at);
    if (grade) facts.push(["grade", gradeText(grade, match.header, this.moves.unit)]);
    return facts;
  }
}

/** Describe what a bot reported about its thinking. */
function thinking(info, who) {
  const searched = [
    Number.isFinite(info.value) ? `value ${valueText(info.value)} on its own scale` : "",
    Number.isFinite(info.depth) ? `depth ${info.depth}` : "",
    Number.isFinite(info.nodes) ? `${info.nodes.toLocaleString("en")} nodes` : "",
  ].filter(Boolean);
  return [
    ...(searched.length ? [[`${who} says`, searched.join(", ")]] : []),
    ...(info.note ? [[`${who} notes`, el("span", { class: "note" }, info.note)]] : []),
  ];
}

function diceText(luck, seat, { seats }, unit) {
  const given = luck.map((each, at) => `${seats[seat < 0 ? at : seat].bot} ${luckText(each, unit)}`);
  return `luck gave ${given.join(" and ")} ${unit ?? "of the point"}`;
}

function gradeText({ seat, value, gave_away: given, best, best_value: bestValue }, { game, config }, unit) {
  if (!given) return `the best move, worth ${worthText(value, unit)}`;
  return el("span", { class: "bad" }, `gave away ${lossText(given, unit)}: worth ${worthText(value, unit)}; ${boardClass(game).moveText(config, best, seat)} was worth ${worthText(bestValue, unit)}`);
}
