/** The boards by game, loaded on demand. `Board` in board.js describes what a board can do. */

import { GAME_NAMES, gameData, loadPart } from "../games.js";
import { AnyBoard } from "./any-board.js";
import { Board } from "./board.js";
import { kit } from "./kit.js";

/** @type {Map<string, typeof Board>} */
const loaded = new Map();

/** The games that have a board: those that the server has, each with its own board or `AnyBoard`. */
export const GAMES = GAME_NAMES;

/**
 * Return whether a game has a board.
 * @param {string} game
 */
export function knows(game) {
  return gameData(game) !== undefined;
}

/**
 * Load the boards of games, so that they can be created; games without a board are ignored.
 * @param {...string} games
 */
export async function loadBoards(...games) {
  await Promise.all(games.filter((game) => knows(game) && !loaded.has(game)).map(async (game) => loaded.set(game, (await loadPart(game, "board", kit)) ?? AnyBoard)));
}

/**
 * Whether the board of a game can be made: load it, if it is not there yet.
 * @param {string} game
 * @returns {Promise<boolean>}
 */
export async function hasBoard(game) {
  await loadBoards(game).catch(() => {});
  return loaded.has(game);
}

/**
 * Whether the board of a recorded match can be made: load it, if it is not there yet. A record that names its rules has all
 * states, so they can be listed although the server does not have the game.
 * @param {{game: string, rules?: object}} header
 * @returns {Promise<boolean>}
 */
export async function hasBoardOfRecord({ game, rules }) {
  if (!knows(game) && rules !== undefined) loaded.set(game, AnyBoard);
  return hasBoard(game);
}

/**
 * Whether the board of a game is there to be made.
 * @param {string} game
 */
export function isLoaded(game) {
  return loaded.has(game);
}

/**
 * Return the class of a game's board, which has the words of the game. Without the game's own, it is `Board`, with words
 * that fit any game.
 * @param {string} game
 */
export function boardClass(game) {
  return loaded.get(game) ?? Board;
}

/**
 * The board of a match, whose game was loaded.
 * @param {string} game
 * @param {{config: object, seats: {bot: string}[]}} match as in `start` or the header of a record
 * @returns {Board}
 */
export function makeBoard(game, match) {
  const BoardOfGame = loaded.get(game);
  if (!BoardOfGame) throw new Error(`the board of ${game} is not loaded, or there is none`);
  return new BoardOfGame(match, game);
}
