/** Titles of games, presets and pools. A test checks that they match the server's. Pure. */

/** @type {Record<string, {title: string, presets: Record<string, string>}>} */
export const TITLES = {
  nim: {
    title: "Nim",
    presets: {
      classic: "classic",
      "min-nim": "one to three at a time",
      sticks: "21 sticks, the last one loses",
    },
  },
  grundy: {
    title: "Grundy’s game",
    presets: { classic: "one heap of 7", large: "heaps of 20 and 30" },
  },
  tictactoe: {
    title: "Tic-tac-toe",
    presets: { classic: "classic" },
  },
  "risk-duel": {
    title: "Risk: the duel",
    presets: {
      "south-america": "South America",
      africa: "Africa",
      europe: "Europe",
      asia: "Asia",
      "europe-fair": "Europe, fair",
    },
  },
  "risk-campaign": {
    title: "Risk: the campaign",
    presets: {
      "grid-fair": "Grid, two players, fair",
      grid: "Grid, two players",
      world: "World, six players",
      "world-3": "World, three players",
      paper: "Grid, without dice",
      "paper-fair": "Grid, without dice, fair",
    },
  },
  dilemma: {
    title: "Dilemma",
    presets: {
      axelrod: "200 rounds",
      "open-end": "without a known end",
      prison: "years in prison",
      "rock-paper-scissors": "rock, paper, scissors",
      "stag-hunt": "stag hunt",
      chicken: "chicken",
      short: "10 rounds",
    },
  },
  kuhn: {
    title: "Kuhn poker",
    presets: { classic: "100 hands", short: "10 hands" },
  },
  leduc: {
    title: "Leduc poker",
    presets: { classic: "100 hands", short: "10 hands" },
  },
};

/**
 * Return the title of a game, like "Risk: the duel"; an unknown game gets its name in words.
 * @param {string} game
 */
export function gameTitle(game) {
  return known(TITLES, game)?.title ?? capital(inWords(game));
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
  return known(known(TITLES, game)?.presets ?? {}, preset) ?? inWords(preset);
}

function known(titles, name) {
  return Object.hasOwn(titles, name) ? titles[name] : undefined;
}

function inWords(name) {
  return name.replaceAll(/[-_]/g, " ");
}

function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
