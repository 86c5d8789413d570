/** Looks back at a match that a person played: shows the moves that gave away most on its board. */

import { fetchJson, gradesAddress, matchAddress } from "../api.js";
import { el } from "../dom.js";
import { sentence } from "../format.js";
import { MatchDocument } from "../viewer/document.js";
import { worstMoves } from "../viewer/worst-moves.js";

/**
 * Create an element that is filled when the moves are graded.
 * @param {object} start the message
 * @param {import("../board/board.js").Board} board
 * @param {string} graded how its moves are graded: "exact" or "estimated"
 * @returns {HTMLElement}
 */
export function lookBack(start, board, graded) {
  const waiting = el("p", { class: "small faint" }, `Your moves are being ${graded === "exact" ? "graded" : "estimated"} …`);
  const element = el("div", { class: "look-back", "aria-live": "polite" }, waiting);
  const { match: id, seat } = start;
  Promise.all([fetchJson(matchAddress(id)), fetchJson(gradesAddress(id, graded, seat))]).then(
    ([record, report]) => {
      const match = new MatchDocument(record);
      const go = (at) => board.show(match.state(at), { event: match.line(at).event, before: match.state(at - 1), seat: start.seat });
      element.replaceChildren(worstMoves(match, report, go, start.seat));
    },
    (error) => waiting.replaceChildren(`Your moves were not graded: ${sentence(error.message)}`),
  );
  return element;
}
