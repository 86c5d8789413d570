/** Titles of games, presets and pools. Pure. */

import { gameData } from "./games.js";

/**
 * Return the title of a game, like "Risk: the duel"; an unknown game gets its name in words.
 * @param {string} game
 */
export function gameTitle(game) {
  return gameData(game)?.title ?? capital(inWords(game));
}

/**
 * Return the title of a preset alone, like "World, three players".
 * @param {string} game
 * @param {string} preset
 */
export function presetTitle(game, preset) {
  return capital(presetOf(game, preset));
}

/**
 * Return the title of a game with its preset, if it has one: "Nim, classic".
 * @param {string} game
 * @param {string | null} [preset]
 */
export function poolTitle(game, preset) {
  return preset ? `${gameTitle(game)}, ${presetOf(game, preset)}` : gameTitle(game);
}

function presetOf(game, preset) {
  const presets = gameData(game)?.presets ?? {};
  return Object.hasOwn(presets, preset) ? presets[preset] : inWords(preset);
}

function inWords(name) {
  return name.replaceAll(/[-_]/g, " ");
}

function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
