/** What the moves of a match gave away, by its bots and the worst of them, and what the dice gave. */

import { seatSign } from "../board/army-symbols.js";
import { el } from "../dom.js";
import { counted, signed } from "../format.js";

const WORST = 5; // moves that are shown

/**
 * The report as the API gives it, to read.
 * @param {import("./document.js").MatchDocument} match
 * @param {{moves: {ply: number, seat: number, gave_away: number, notation?: string, best_notation: string}[],
 *   luck?: {total: number[], value: string, events: object[]}}} report
 * @param {(at: number) => void} go to a position
 * @returns {HTMLElement[]}
 */
export function gradesOf(match, { moves, luck }, go) {
  const byBot = match.header.seats.map(({ bot }, seat) => {
    const own = moves.filter((move) => move.seat === seat);
    const given = own.reduce((sum, move) => sum + move.gave_away, 0);
    const worse = own.filter((move) => move.gave_away > 0).length;
    const dice = luck?.events.length ? `; the dice gave it ${signed(luck.total[seat], 2)}` : "";
    return el("li", { class: `seat-${seat}` }, seatSign(seat), el("span", {}, el("b", {}, bot), `: ${given.toFixed(3)} points given away by ${worse} of ${counted(own.length, "move")}${dice}`));
  });
  const worst = moves.filter((move) => move.gave_away > 0).sort((one, other) => other.gave_away - one.gave_away).slice(0, WORST);
  const by = luck?.events.length ? [el("p", { class: "small faint" }, `Luck is told by ${luck.value}.`)] : [];
  const rows = worst.map((move) => worstMove(match, move, go)).filter(Boolean);
  const list = rows.length ? [el("h3", {}, "The moves that gave most away"), el("ol", { class: "worst" }, ...rows)] : [el("p", {}, "No move gave anything away.")];
  return [el("ul", { class: "by-bot" }, ...byBot), ...by, ...list];
}

function worstMove(match, { ply, seat, gave_away: given, best_notation: best }, go) {
  const at = match.plies.findIndex(({ event }) => event.ply === ply && event.seat === seat && event.out === undefined) + 1;
  if (!at) return null;
  const press = (event) => {
    event.preventDefault();
    go(at);
  };
  const link = el("a", { href: `#ply=${match.named(at)}`, onclick: press }, `ply ${ply}`);
  return el("li", {}, link, ` ${match.header.seats[seat].bot} gave away ${given.toFixed(3)}; better: ${best}`);
}
