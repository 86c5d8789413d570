/** Who plays: each seat once, with its sign, its name, its clock and how strong it is. */

import { el, put, say } from "../dom.js";
import { seatSign } from "./army-symbols.js";
import { moversOf } from "./movers.js";

const MANY = 4; // players from which on each has less room

/** A list of players, by seat. */
export class Players {
  /**
   * @param {{bot: string, display?: string, version?: string}[]} seats
   * @param {{address?: (bot: string) => string | null, you?: number}} [options] where a bot's page is; a person's seat
   */
  constructor(seats, { address = () => null, you = -1 } = {}) {
    this.rows = seats.map((player, seat) => makeRow(player, seat, address(player.bot), seat === you));
    this.element = el("ul", { class: "players", "aria-label": "players", "data-many": seats.length >= MANY }, ...this.rows.map(({ element }) => element));
  }

  /**
   * Whose turn it is, and how strong everybody is.
   * @param {number | number[] | null} toMove as a state has it
   * @param {import("./board.js").Board | null} board as it is shown; null where there is none
   */
  show(toMove, board) {
    const movers = moversOf(toMove);
    for (const [seat, { element, strength, words, short, share }] of this.rows.entries()) {
      put(element, "data-to-move", movers.includes(seat));
      const has = board?.strength(seat) ?? null;
      put(element, "data-out", Boolean(has?.out));
      put(strength, "hidden", has === null);
      put(share.parentNode, "hidden", (has?.share ?? null) === null);
      say(words, has?.words ?? "");
      say(short, has?.short ?? "");
      share.style.setProperty("width", `${100 * (has?.share ?? 0)}%`);
    }
  }

  /**
   * What a seat's clock says; marked where it is short.
   * @param {number} seat
   * @param {string} text
   * @param {boolean} [short]
   */
  clock(seat, text, short = false) {
    say(this.rows[seat].clock, text);
    put(this.rows[seat].element, "data-short", short);
  }

  /**
   * Say something of a seat beside its name: that it is out, and why.
   * @param {number} seat
   * @param {string} text
   */
  note(seat, text) {
    say(this.rows[seat].note, text === "" ? "" : ` ${text}`);
  }

  /**
   * The place that a seat came in; empty while that is not known.
   * @param {number} seat
   * @param {string} text
   */
  place(seat, text) {
    say(this.rows[seat].place, text);
    put(this.rows[seat].place, "hidden", text === "");
  }
}

function makeRow({ bot, display = "", version }, seat, address, isYou) {
  const clock = el("span", { class: "clock", role: "timer" });
  const [note, place] = [el("span", { class: "note bad" }), el("span", { class: "badge", hidden: true })];
  const name = address === null ? el("b", {}, isYou ? "you" : bot) : el("a", { href: address }, bot);
  const who = el("span", { class: "who", title: display === "" ? bot : `${bot}: ${display}` }, el("span", { class: "quiet" }, `seat ${seat + 1}: `), name, display === "" || isYou ? null : el("bdi", { class: "display" }, ` ${display}`), version ? el("span", { class: "faint version" }, ` ${version}`) : null, note);
  const [words, short] = [el("span", { class: "long" }), el("span", { class: "short", "aria-hidden": "true" })];
  const strength = el("span", { class: "strength", hidden: true }, words, short);
  const share = el("i", { class: "share" });
  const bar = el("span", { class: "share-bar", "aria-hidden": "true", hidden: true }, share);
  return { element: el("li", { class: `player seat-${seat}` }, seatSign(seat), who, place, clock, strength, bar), clock, note, place, strength, words, short, share };
}
