/** The clocks of all seats; of a live match, that of the seat to move runs. */

import { seatSign } from "../board/army-symbols.js";
import { el, put, say } from "../dom.js";
import { clockText, reasonInWords } from "../format.js";

const TICK = 100; // ms

export class Clocks {
  /**
   * @param {import("./document.js").MatchDocument} match
   * @param {(bot: string) => string | null} [address] of a bot's page
   */
  constructor(match, address = () => null) {
    this.match = match;
    this.rows = match.header.seats.map((player, seat) => makeRow(player, seat, address(player.bot)));
    this.element = el("ul", { class: "clocks", "aria-label": "clocks" }, ...this.rows.map(({ element }) => element));
    this.timer = 0;
  }

  /**
   * Show the clocks of a position.
   * @param {number} at
   */
  show(at) {
    this.at = at;
    const mover = this.match.state(at)?.to_move ?? null;
    this.outs = new Map();
    for (const { event } of this.match.plies.slice(0, at)) if (event.out) this.outs.set(event.seat, reasonInWords(event.out));
    const runs = this.match.live && at === this.match.last && mover !== null;
    if (runs && !this.timer) this.timer = setInterval(() => this.#draw(), TICK);
    if (!runs) {
      clearInterval(this.timer);
      this.timer = 0;
    }
    this.#draw();
  }

  #draw() {
    const { match, at } = this;
    const clock = match.clock(at);
    const mover = match.state(at)?.to_move ?? null;
    for (const [seat, row] of this.rows.entries()) {
      const passed = this.timer && seat === mover ? (match.cutAt ?? performance.now()) - match.told : 0;
      say(row.clock, clock ? clockText(clock[seat] - passed) : "–");
      row.element.classList.toggle("to-move", seat === mover);
      say(row.out, this.outs.has(seat) ? ` ${this.outs.get(seat)}` : "");
      const rank = match.footer && at === match.last ? match.footer.ranks[seat] : null;
      say(row.rank, rank === null ? "" : `rank ${rank}`);
      put(row.rank, "hidden", rank === null);
    }
  }
}

function makeRow({ bot, version }, seat, address) {
  const clock = el("span", { class: "clock" });
  const [out, rank] = [el("span", { class: "bad" }), el("span", { class: "badge" })];
  const name = address === null ? el("b", {}, bot) : el("a", { href: address }, bot);
  const said = el("span", { class: "clock-bot" }, name, version ? el("span", { class: "faint" }, ` ${version}`) : null, out);
  return { element: el("li", { class: `seat-${seat}` }, seatSign(seat), said, rank, clock), clock, out, rank };
}
