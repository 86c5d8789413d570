/** Describes moves and events for people. The words are those of `arena replay show`, but heaps are counted from 1. */

import { MAX_RECORDED_ROUNDS } from "../check/rules/battle.js";
import { counted } from "../format.js";
import { cardText } from "./cards.js";
import { playedIn, numberText } from "./rounds.js";

const MAX_NAMED_TERRITORIES = 4; // maximum territories of a draft that are named

/** The cells of tic-tac-toe, row by row. */
export const CELLS = ["top left", "top", "top right", "left", "middle", "right", "bottom left", "bottom", "bottom right"];

/**
 * Describe a move in a few words.
 * @param {string} game
 * @param {object} config
 * @param {object} move
 * @param {number} [seat] the seat that moved, where the names of moves depend on it
 * @returns {string}
 */
export function notation(game, config, move, seat = 0) {
  const name = (at) => config.map?.territories[at]?.name ?? `territory ${at + 1}`;
  if (game === "nim") return `${move.take} from heap ${move.heap + 1}`;
  if (game === "grundy") return `split ${move.split} off heap ${move.heap + 1}`;
  if (game === "tictactoe") return CELLS[move.cell] ?? JSON.stringify(move);
  if (game === "dilemma") return config.choices[seat][move.choose] ?? JSON.stringify(move);
  if (move.do === "invade") return `invade ${name(move.to)}`;
  if (move.do === "reinforce") return `reinforce ${name(move.at)}`;
  if (move.do === "attack") return `${name(move.from)} → ${name(move.to)}${move.units === undefined ? "" : ` with ${move.units}`}`;
  if (move.do === "draft") return `draft ${few(move.units.map(([at, count]) => `${name(at)}+${count}`))}`;
  return move.do ?? JSON.stringify(move);
}

/**
 * Describe the result of an attack: "taken (dice 6 : 3)" or "taken after 5 rounds, 3 troops left"; empty for other
 * moves.
 * @param {object} event
 * @returns {string}
 */
export function describeResult({ dice = [], result }) {
  if (result === undefined || result === null) return "";
  const fought = Math.floor(dice.length / 2);
  const thrown = dice.length ? ` (dice\u00a0${dice.map((row) => row.join(",")).join("\u00a0:\u00a0")})` : "";
  const battle = fought > 1 ? ` after ${fought}${fought === MAX_RECORDED_ROUNDS ? "+" : ""} rounds` : thrown;
  const left = Math.max(result.attackers ?? 0, result.defenders ?? 0);
  return `${result.taken ? "taken" : "held"}${battle}${left ? `, ${counted(left, "troop")} left` : ""}`;
}

/**
 * Describe an event, without the name of the mover.
 * @param {string} game
 * @param {object} config
 * @param {object} event
 * @param {{bot: string}[]} [seats]
 * @returns {string}
 */
export function describeEvent(game, config, event, seats = []) {
  if (event.out !== undefined && event.out !== null) return `out: ${event.out}`;
  if (event.moves) return game === "dilemma" ? roundInWords(config, event) : movesOf(game, config, event.moves);
  if (event.seat < 0) return dealt(game, event.move);
  const came = event.result?.chips === undefined ? describeResult(event) : handOver(game, event.result, seats);
  return notation(game, config, event.move) + (came ? `: ${came}` : "");
}

/** Return what each seat chose in a round, without seats that are out. */
function movesOf(game, config, moves) {
  return moves.flatMap((move, seat) => (move === null ? [] : notation(game, config, move, seat))).join(", ");
}

/** Return "cooperate, defect · 0 and 5", with the original choices where chance changed them, as far as known. */
function roundInWords({ choices }, event) {
  const [{ chosen, played, payoffs }] = playedIn([event]);
  const named = (made) => made.map((choice, seat) => (choice === null ? "?" : choices[seat][choice])).join(", ");
  const changed = chosen.some((choice, seat) => choice !== null && choice !== played[seat]);
  return `${named(played)}${changed ? ` (chosen: ${named(chosen)})` : ""} · ${payoffs.map(numberText).join(" and ")}`;
}

/**
 * Describe a round by seat: "you defect, bob cooperate: you 5, bob 0".
 * @param {object} config
 * @param {object} event
 * @param {{bot: string}[]} seats
 */
export function roundBySeat({ choices }, event, seats) {
  const [{ chosen, played, payoffs }] = playedIn([event]);
  const changed = (seat) => (chosen[seat] === null || chosen[seat] === played[seat] ? "" : ` (chosen: ${choices[seat][chosen[seat]]})`);
  const did = seats.map(({ bot }, seat) => `${bot} ${choices[seat][played[seat]]}${changed(seat)}`);
  return `${did.join(", ")}: ${seats.map(({ bot }, seat) => `${bot} ${numberText(payoffs[seat])}`).join(", ")}`;
}

/** Return the end of a hand: "K♠ and Q♠, ann wins 2". */
function handOver(game, { won, chips, cards }, seats) {
  const shown = cards ? `${cards.map((card) => cardText(game, card)).join(" and ")}, ` : "";
  const winner = seats[won]?.bot ?? `seat ${won + 1}`;
  return shown + (won === null ? "the pot is shared" : `${winner} ${winner === "you" ? "win" : "wins"} ${counted(chips, "chip")}`);
}

function dealt(game, move) {
  if (move?.cards) return `deals ${move.cards.map((card) => cardText(game, card)).join(" and ")}`;
  if (move?.public !== undefined) return `turns up ${cardText(game, move.public)}`;
  if (move?.heaps) return `deals heaps of ${move.heaps.join(", ")}`;
  if (move?.owner) return `deals ${move.owner.length} territories to ${new Set(move.owner).size} seats`;
  return `deals ${JSON.stringify(move)}`;
}

function few(items) {
  const more = items.length > MAX_NAMED_TERRITORIES ? ` and ${items.length - MAX_NAMED_TERRITORIES} more` : "";
  return items.slice(0, MAX_NAMED_TERRITORIES).join(" ") + more;
}
