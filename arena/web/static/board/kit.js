/**
 * What a game's board is made of. The script of a board imports nothing of the arena. Its default export is a function
 * (kit, game) that returns the game's subclass of `Board`:
 *
 *     export default ({ Board, el }) =>
 *       class extends Board {
 *         draw() {
 *           this.face.replaceChildren(el("p", {}, this.state.count));
 *         }
 *       };
 */

import { el, put, say, svg } from "../dom.js";
import { counted, either, listed, numberText, seatWithVerb, sentence, signedText } from "../format.js";
import { Board } from "./board.js";
import { Choices } from "./choices.js";
import { History } from "./history.js";
import { moversOf } from "./movers.js";
import { withChance } from "./odds.js";
import { Roving } from "./roving-tabindex.js";
import { makeSeatSymbol, shapeOf } from "./seat-symbols.js";

export const kit = Object.freeze({
  /** The base class of boards, see board.js. */
  Board,
  /** Buttons for a person's choices, with keys. */
  Choices,
  /** Rows of marks, one row a seat. */
  History,
  /** Parts of a board that can be pressed, with one tab stop. */
  Roving,
  /** Elements and texts, see dom.js. */
  el,
  put,
  say,
  svg,
  /** Words, see format.js. */
  counted,
  either,
  listed,
  numberText,
  seatWithVerb,
  sentence,
  signedText,
  /** Symbols of seats, see seat-symbols.js. */
  makeSeatSymbol,
  shapeOf,
  /** The seats to move, from `to_move`. */
  moversOf,
  /** Words with the chance of success behind them. */
  withChance,
});
