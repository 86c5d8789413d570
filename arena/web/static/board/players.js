/** The list of players: each seat with its symbol, name, clock and strength. */

import { el, put, say } from "../dom.js";
import { moversOf } from "./movers.js";
import { makeSeatSymbol } from "./seat-symbols.js";

const MANY_PLAYERS = 4; // number of players from which on each gets less room

/** A list of players by seat. */
export class Players {
  /**
   * @param {{bot: string, display?: string, version?: string}[]} seats
   * @param {{address?: (bot: string) => string | null, you?: number}} [options] where a bot's page is; a person's seat
   */
  constructor(seats, { address = () => null, you = -1 } = {}) {
    this.rows = seats.map((player, seat) => makeRow(player, seat, address(player.bot), seat === you));
    this.element = el("ul", { class: "players", "aria-label": "players", "data-many": seats.length >= MANY_PLAYERS }, ...this.rows.map(({ element }) => element));
  }

  /**
   * Show whose turn it is, and how strong every player is.
   * @param {number | number[] | null} toMove as in a state
   * @param {import("./board.js").Board | null} board the board as shown, if there is one
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
   * Show the clock of a seat; `short` marks that little time is left.
   * @param {number} seat
   * @param {string} text
   * @param {boolean} [short]
   */
  clock(seat, text, short = false) {
    say(this.rows[seat].clock, text);
    put(this.rows[seat].element, "data-short", short);
  }

  /**
   * Show a note beside a seat's name: that it is out, and why.
   * @param {number} seat
   * @param {string} text
   */
  note(seat, text) {
    say(this.rows[seat].note, text === "" ? "" : ` ${text}`);
  }

  /**
   * Show the final place of a seat; empty if it is not known yet.
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
  return { element: el("li", { class: `player seat-${seat}` }, makeSeatSymbol(seat), who, place, clock, strength, bar), clock, note, place, strength, words, short, share };
}
