/** The grades of a match: what each bot's moves gave away, the worst moves, and the luck. */

import { makeSeatSymbol } from "../board/seat-symbols.js";
import { el, put, say } from "../dom.js";
import { counted, lossText, luckText, sentence } from "../format.js";
import { seatSelect, worstMoves } from "./worst-moves.js";

/**
 * Create the elements that show the API's report of the grades.
 * @param {import("./document.js").MatchDocument} match
 * @param {{moves: {ply: number, seat: number, gave_away: number, best: object}[],
 *   luck?: {total: number[], value: string, events: object[], unit?: string}, unit?: string}} report
 * @param {(at: number) => void} go goes to a position
 * @param {number | null} mine the seat of the person who looks back
 * @param {number | null} of the seat to show first
 * @returns {HTMLElement[]}
 */
export function gradesOf(match, report, go, mine, of) {
  const { moves, luck, unit } = report;
  const byBot = match.header.seats.flatMap(({ bot }, seat) => {
    const own = moves.filter((move) => move.seat === seat);
    if (!own.length) return [];
    const given = own.reduce((sum, move) => sum + move.gave_away, 0);
    const worse = own.filter((move) => move.gave_away > 0).length;
    const lucky = luck?.events.length ? `; luck gave it ${luckText(luck.total[seat], luck.unit)}${luck.unit ? ` ${luck.unit}` : ""}` : "";
    return el("li", { class: `seat-${seat}` }, makeSeatSymbol(seat), el("span", {}, el("b", {}, bot), `: gave away ${lossText(given, unit)}${unit ? "" : " of a point"} with ${worse} of ${counted(own.length, "move")}${lucky}`));
  });
  const by = luck?.events.length ? [el("p", { class: "small faint" }, `Luck is measured by the value function ${luck.value}.`)] : [];
  return [worstMoves(match, report, go, mine, of), el("ul", { class: "by-bot" }, ...byBot), ...by];
}

/**
 * Create the form that requests estimates for the moves of a seat.
 * @param {import("./document.js").MatchDocument} match
 * @param {(seat: number) => Promise<void>} grade
 * @param {number | null} of the seat to show first
 * @returns {HTMLElement}
 */
export function offerOf(match, grade, of) {
  const choice = seatSelect(match, [...match.header.seats.keys()], of);
  const button = el("button", {}, "Estimate");
  const told = el("p", { class: "small faint", role: "status" });
  const asked = async (event) => {
    event.preventDefault();
    put(button, "disabled", true);
    say(told, "Simulating: this may take a minute …");
    await grade(Number(choice.value)).catch((error) => say(told, sentence(error.message)));
    put(button, "disabled", false);
  };
  const form = el("form", { class: "row", onsubmit: asked }, el("label", {}, "Costs of the moves of ", choice), button);
  return el("div", {}, form, told);
}
