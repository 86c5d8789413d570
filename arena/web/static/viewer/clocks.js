/** The players of a match with their clocks; in a live match, the clocks of the seats to move run. */

import { ordinal } from "../board/ending-text.js";
import { moversOf } from "../board/movers.js";
import { Players } from "../board/players.js";
import { clockText, reasonInWords } from "../format.js";

const TICK = 100; // ms

export class Clocks {
  /**
   * @param {import("./document.js").MatchDocument} match
   * @param {import("../board/board.js").Board | null} board
   * @param {(bot: string) => string | null} [address] returns the URL of a bot's page
   */
  constructor(match, board, address = () => null) {
    this.match = match;
    this.board = board;
    this.players = new Players(match.header.seats, { address });
    this.element = this.players.element;
    this.timer = 0;
  }

  /**
   * Show the clocks of a position, which the board, if any, shows already.
   * @param {number} at
   */
  show(at) {
    const { match } = this;
    this.at = at;
    const state = match.state(at);
    const movers = moversOf(state?.to_move);
    this.players.show(movers, state ? this.board : null);
    const outs = new Map(match.plies.slice(0, at).flatMap(({ event }) => (event.out ? [[event.seat, reasonInWords(event.out)]] : [])));
    const ranks = match.footer && match.footer.reason !== "void" && at === match.last ? match.footer.ranks : null;
    for (const seat of match.header.seats.keys()) {
      this.players.note(seat, outs.get(seat) ?? "");
      this.players.place(seat, ranks ? ordinal(ranks[seat]) : "");
    }
    const runs = match.live && at === match.last && movers.length > 0;
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
    const movers = moversOf(match.state(at)?.to_move);
    for (const seat of match.header.seats.keys()) {
      const passed = this.timer && movers.includes(seat) ? (match.cutAt ?? performance.now()) - match.told : 0;
      this.players.clock(seat, clock ? clockText(clock[seat] - passed) : "–");
    }
  }
}
