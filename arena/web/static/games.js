/** The games of this page: their titles, and where their scripts are. The server writes them into the element `games`. */

/**
 * @typedef {object} GameData
 * @property {string} title
 * @property {Record<string, string>} presets titles by name
 * @property {string | null} board the address of the script of the board; board/kit.js describes the script
 * @property {string | null} check the address of the script of the rules; check/kit.js describes it
 * @property {string} [digest] of the rules, if they do not come with bot-arena
 * @property {string | null} tutorial the address of the script of the tutorial; tutorial/lesson.js describes it
 */

/** @type {Record<string, GameData>} */
const games = JSON.parse(globalThis.document?.getElementById("games")?.textContent ?? "{}");

/** The names of all games. */
export const GAME_NAMES = Object.keys(games);

/**
 * Return what the page knows of a game; undefined for an unknown game.
 * @param {string} game
 */
export function gameData(game) {
  return Object.hasOwn(games, game) ? games[game] : undefined;
}

/**
 * Load a script of a game, and call it with what the arena gives it. Rejects if the script does not load.
 * @param {string} game
 * @param {"board" | "check" | "tutorial"} part
 * @param {object} [kit]
 * @returns {Promise<unknown>} what the script makes for this game; undefined if the game has no such script
 */
export async function loadPart(game, part, kit) {
  const address = gameData(game)?.[part];
  if (!address) return undefined;
  const { default: make } = await import(address);
  return make(kit, game);
}
