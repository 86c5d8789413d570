/** The boards by game, loaded on demand. `Board` in board.js describes what a board can do. */

const BOARDS = {
  nim: async () => (await import("./nim.js")).NimBoard,
  grundy: async () => (await import("./grundy.js")).GrundyBoard,
  tictactoe: async () => (await import("./tictactoe.js")).TicTacToeBoard,
  "risk-duel": async () => (await import("./duel.js")).DuelBoard,
  "risk-campaign": async () => (await import("./campaign.js")).CampaignBoard,
  dilemma: async () => (await import("./dilemma.js")).DilemmaBoard,
  kuhn: async () => (await import("./poker.js")).PokerBoard,
  leduc: async () => (await import("./poker.js")).PokerBoard,
};

/** @type {Map<string, new (game: string, match: object) => import("./board.js").Board>} */
const loaded = new Map();

/** The games that have a board. */
export const GAMES = Object.keys(BOARDS);

/**
 * Return whether a game has a board.
 * @param {string} game
 */
export function knows(game) {
  return Object.hasOwn(BOARDS, game);
}

/**
 * Load the boards of games, so that they can be created; games without a board are ignored.
 * @param {...string} games
 */
export async function loadBoards(...games) {
  await Promise.all(games.filter(knows).map(async (game) => loaded.set(game, await BOARDS[game]())));
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
 * Whether the board of a game is there to be made.
 * @param {string} game
 */
export function isLoaded(game) {
  return loaded.has(game);
}

/**
 * The board of a match, whose game was loaded.
 * @param {string} game
 * @param {{config: object, seats: {bot: string}[]}} match as in `start` or the header of a record
 * @returns {import("./board.js").Board}
 */
export function makeBoard(game, match) {
  const BoardOfGame = loaded.get(game);
  if (!BoardOfGame) throw new Error(`the board of ${game} is not loaded, or there is none`);
  return new BoardOfGame(match, game);
}
