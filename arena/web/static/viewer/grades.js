/** What the moves of a match gave away, by its bots and the worst of each, and what the dice gave. */

import { seatSign } from "../board/army-symbols.js";
import { el } from "../dom.js";
import { counted, signed } from "../format.js";
import { worstMoves } from "./worst-moves.js";

/**
 * The report as the API gives it, to read.
 * @param {import("./document.js").MatchDocument} match
 * @param {{moves: {ply: number, seat: number, gave_away: number, notation?: string, best_notation: string}[],
 *   luck?: {total: number[], value: string, events: object[]}}} report
 * @param {(at: number) => void} go to a position
 * @param {number | null} mine seat of the person who looks on
 * @returns {HTMLElement[]}
 */
export function gradesOf(match, report, go, mine) {
  const { moves, luck } = report;
  const byBot = match.header.seats.map(({ bot }, seat) => {
    const own = moves.filter((move) => move.seat === seat);
    const given = own.reduce((sum, move) => sum + move.gave_away, 0);
    const worse = own.filter((move) => move.gave_away > 0).length;
    const dice = luck?.events.length ? `; the dice gave it ${signed(luck.total[seat], 2)}` : "";
    return el("li", { class: `seat-${seat}` }, seatSign(seat), el("span", {}, el("b", {}, bot), `: ${given.toFixed(3)} points given away by ${worse} of ${counted(own.length, "move")}${dice}`));
  });
  const by = luck?.events.length ? [el("p", { class: "small faint" }, `Luck is told by ${luck.value}.`)] : [];
  return [worstMoves(match, report, go, mine), el("ul", { class: "by-bot" }, ...byBot), ...by];
}
