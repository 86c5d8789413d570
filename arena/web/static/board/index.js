/** The boards by the name of their game. What a board can do: `Board` in board.js. */

import { GrundyBoard } from "./grundy.js";
import { NimBoard } from "./nim.js";
import { CampaignBoard } from "./campaign.js";
import { DilemmaBoard } from "./dilemma.js";
import { DuelBoard } from "./duel.js";
import { PokerBoard } from "./poker.js";
import { TicTacToeBoard } from "./tictactoe.js";

const BOARDS = {
  nim: NimBoard,
  grundy: GrundyBoard,
  tictactoe: TicTacToeBoard,
  "risk-duel": DuelBoard,
  "risk-campaign": CampaignBoard,
  dilemma: DilemmaBoard,
  kuhn: PokerBoard,
  leduc: PokerBoard,
};

/**
 * Whether there is a board for a game.
 * @param {string} game
 */
export function knows(game) {
  return Object.hasOwn(BOARDS, game);
}

/**
 * The board of a match.
 * @param {string} game
 * @param {{config: object, seats: {bot: string}[]}} match as in `start` or the header of a record
 * @returns {import("./board.js").Board}
 */
export function makeBoard(game, match) {
  if (!knows(game)) throw new Error(`there is no board for the game ${game}`);
  return new BOARDS[game](match, game);
}
