/** The moves of a seat that gave away most, each with a better one; pressing one shows it on the board. */

import { boardClass } from "../board/index.js";
import { makeSeatSymbol } from "../board/seat-symbols.js";
import { el, put } from "../dom.js";
import { lossText } from "../format.js";

const MAX_WORST_MOVES = 5;
const MIN_LOSS = 0.001; // smaller losses are ignored, and for estimates those below their noise

/**
 * @typedef {object} Grade the grade of a move in the API
 * @property {number} ply
 * @property {number} seat
 * @property {number} gave_away
 * @property {object} best the best move
 */

/**
 * Create the list of a seat's worst moves. The seat can be chosen, unless a person looks back at their own match.
 * @param {import("./document.js").MatchDocument} match
 * @param {{moves: Grade[], estimate?: string, noise?: number, unit?: string}} report
 * @param {(at: number) => void} go called with the position after a move
 * @param {number | null} mine the seat of the person who looks back
 * @param {number | null} [of] the seat to show first
 * @returns {HTMLElement}
 */
export function worstMoves(match, report, go, mine, of = null) {
  const list = el("ol", { class: "worst-list" });
  const show = (seat) => list.replaceChildren(...items(match, report, go, seat, seat === mine));
  const choice = mine === null ? chooser(match, report, show, of) : null;
  show(mine ?? Number(choice.querySelector("select").value));
  const title = el("h2", {}, mine === null ? "Costliest moves" : "Your costliest moves");
  list.addEventListener("click", ({ target }) => {
    const pressed = target.closest("button");
    if (pressed) for (const button of list.querySelectorAll("button")) put(button, "aria-pressed", String(button === pressed));
  });
  const { estimate, noise, unit } = report;
  const by = estimate ? ` Estimated by ${estimate}${noise ? `; costs below ${lossText(noise)} may be chance` : ""}.` : "";
  const scaleText = unit ? boardClass(match.header.game).gradeScaleText(unit) : "In percent of the point: a win is 100\u00a0%, a draw 50\u00a0%.";
  const scale = el("p", { class: "small faint" }, `${scaleText}${by}`);
  return el("section", { class: "worst-moves", "aria-label": "worst moves" }, title, choice, list, scale);
}

/** Return the moves of a seat that gave something away, worst first, at most five. */
function worstOf({ moves, noise = 0 }, seat) {
  const lost = moves.filter((move) => move.seat === seat && move.gave_away >= Math.max(MIN_LOSS, noise));
  return lost.sort((one, other) => other.gave_away - one.gave_away || one.ply - other.ply).slice(0, MAX_WORST_MOVES);
}

function items(match, report, go, seat, isMine) {
  const worst = worstOf(report, seat);
  if (!worst.length) return [el("li", {}, `${isMine ? "You" : match.header.seats[seat].bot} gave nothing away${report.estimate ? " beyond what may be chance." : ": every move was the best."}`)];
  return worst.map((grade) => item(match, grade, report.unit, go));
}

function item(match, { ply, seat, gave_away: lost, best }, unit, go) {
  const at = 1 + match.plies.findIndex(({ event }) => event.ply === ply && event.seat === seat && event.out === undefined);
  const { game, config } = match.header;
  const Words = boardClass(game);
  const words = [el("span", { class: "faint" }, `${Words.placeText(at, match.state(at - 1))}:`), el("b", {}, Words.eventText(config, match.line(at).event, match.header.seats)), el("span", { class: "bad" }, `gave away ${lossText(lost, unit)}`), el("span", {}, `better: ${Words.moveText(config, best, seat)}`)];
  return el("li", {}, el("button", { type: "button", "aria-pressed": "false", onclick: () => go(at) }, makeSeatSymbol(seat), ...words.flatMap((word) => [" ", word])));
}

/** Create the choice of the seat whose moves are listed. */
function chooser(match, report, show, of) {
  const graded = new Set(report.moves.map(({ seat }) => seat));
  const seats = match.header.seats.flatMap((_, seat) => (graded.has(seat) ? [seat] : []));
  return el("label", {}, "of ", seatSelect(match, seats, of, show));
}

/**
 * Create a choice of seats. It starts with the seat asked for, else with the loser.
 * @param {import("./document.js").MatchDocument} match
 * @param {number[]} seats
 * @param {number | null} of the seat to start with
 * @param {(seat: number) => void} [show] called when another seat is chosen
 * @returns {HTMLSelectElement}
 */
export function seatSelect({ header, footer }, seats, of, show = () => {}) {
  const ranks = seats.map((seat) => footer?.ranks[seat] ?? 1);
  const first = seats.includes(of) ? of : seats[ranks.indexOf(Math.max(...ranks))];
  const options = seats.map((seat) => el("option", { value: seat, selected: seat === first }, header.seats[seat].bot));
  return el("select", { onchange: ({ target }) => show(Number(target.value)) }, ...options);
}
