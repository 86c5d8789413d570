/** Who of those here plays what a person wants to play, and what keeps a match waiting, by what a listing tells. Pure. */

import { CLIENT } from "../arena-socket.js";
import { counted, listed } from "../format.js";
import { gameTitle, poolTitle, presetTitle } from "../titles.js";

/** The state of a bot that starts a match as soon as a person asks for it. */
export const PLAYS_AT_ONCE_TEXT = "plays at once";
const [MAX_LISTED_SEEKS, NAMING_SEEK_WEIGHT] = [24, 3]; // of a bot, which may have more; one that names opponents counts as 3
const MAX_SHOWN = 3; // who wants another variant
const WARM_UP_TEXT = "half a minute or more the first time";

/**
 * @typedef {object} Wish  what a person wants to play
 * @property {string} game
 * @property {string} [preset]  the preset that the config is; none where it is another config
 * @property {number} seats
 */

/**
 * What a seek asks for, as far as a page knows the game.
 * @param {import("./seek-form.js").GameOffered[]} games
 * @param {{game: string, config: Record<string, unknown>}} what
 * @returns {Wish}
 */
export function wishOf(games, { game, config }) {
  const presets = games.find((offered) => offered.game === game)?.presets ?? [];
  const { preset = Object.keys(config).length === 0 ? presets[0]?.preset : undefined, players, ...changed } = config;
  const offered = presets.find((known) => known.preset === preset);
  const seats = players ?? offered?.usual ?? 2;
  return { game, preset: Object.keys(changed).length === 0 ? offered?.pools[seats] : undefined, seats };
}

/**
 * How soon a bot plays what is wanted, in words, and in the order of soonness; null where it does not play that, as far
 * as is known.
 * @param {object} bot  of a listing
 * @param {Wish} wish
 * @param {string} me  who asks, in lower case
 * @param {object[]} matches  of the listing
 * @param {boolean} isRated  whether it has a rating at this
 * @returns {{how: string, order: number} | null}
 */
export function readiness(bot, wish, me, matches, isRated) {
  const { seeks = [], playing = 0 } = bot;
  const fitting = seeks.filter((seek) => fits(seek, wish));
  if (fitting.some((seek) => asks(seek, me))) return { how: "waits for you", order: 0 };
  if (fitting.some(({ open }) => open)) return { how: PLAYS_AT_ONCE_TEXT, order: 1 };
  if (fitting.some(takesAnybody)) return { how: "wants an unrated match", order: 2 };
  if (fitting.some((seek) => seek.private)) return { how: "waits for a friend", order: 3 };
  if (bot.client === CLIENT)
    return { how: playing > 0 ? "a person, playing now" : "a person: plays you if you choose each other", order: 3 };
  if (warmsUp(bot, wish)) return { how: `getting ready for this game: ${WARM_UP_TEXT}`, order: 3 };
  const plays = matches.some((match) => match.seats.includes(bot.bot) && match.game === wish.game && match.preset === wish.preset);
  return playing > 0 && (plays || isRated) ? { how: "busy in a match", order: 4 } : null;
}

/**
 * What somebody who does not play this is here for, in a sentence; empty where it may play it, or nobody knows.
 * @param {object} bot  of a listing
 * @param {Wish} wish
 * @param {string} me  in lower case
 * @param {object[]} matches  of the listing
 */
export function otherwise(bot, wish, me, matches) {
  const { seeks = [] } = bot;
  const open = seeks.filter((seek) => seek.open);
  if (open.length === 0 || mayHaveMore(seeks) || readiness(bot, wish, me, matches, false) !== null) return "";
  const same = open.filter(({ game }) => game === wish.game);
  const what = same.length > 0
    ? listed(same.flatMap(({ game, presets = [] }) => presets.map((preset) => poolTitle(game, preset))))
    : listed([...new Set(open.map(({ game }) => gameTitle(game)))]);
  return `${bot.bot} does not play ${said(wish)}. It plays ${what}.`;
}

/** Whether a bot may have more seeks than these, which a listing has. */
function mayHaveMore(seeks) {
  const weights = seeks.map(({ opponents = [] }) => (opponents.length > 0 ? NAMING_SEEK_WEIGHT : 1));
  return weights.reduce((sum, weight) => sum + weight, NAMING_SEEK_WEIGHT) > MAX_LISTED_SEEKS;
}

/**
 * What keeps somebody waiting, in a sentence; empty where nothing does that a listing tells.
 * @param {{opponents: string[], private: boolean}} seek
 * @param {Wish} wish  what it asks for
 * @param {string} bot  who seeks
 * @param {{bots: object[], matches?: object[], more_bots?: number}} listing
 * @param {import("./seek-form.js").GameOffered[]} [games]  from which a smaller table is proposed
 */
export function hindrance({ opponents, private: isPrivate }, wish, bot, { bots, matches = [], more_bots = 0 }, games = []) {
  if (more_bots > 0 || isPrivate) return ""; // who is not listed may be here
  const me = bot.toLowerCase();
  const here = new Map(bots.map((other) => [other.bot.toLowerCase(), other]));
  here.delete(me);
  const named = new Set(opponents.map((name) => name.toLowerCase()));
  const isNamed = (other) => named.has(other.bot.toLowerCase());
  const ready = [...here.values()].filter((other) => wants(other, wish, me, isNamed(other)));
  const warming = [...here.values()].filter((other) => !ready.includes(other) && warmsUp(other, wish));
  const free = Math.max(0, wish.seats - 1 - named.size);
  const company = [...ready.filter(isNamed), ...ready.filter((other) => !isNamed(other)).slice(0, free)];
  const why = named.size > 0
    ? absence(opponents, here, [...ready, ...warming], (other) => otherwise(other, wish, me, matches), wish)
    : nobody(wish, ready, warming, [...here.values()]);
  const late = free > 0 ? warming : warming.filter(isNamed);
  const short = shortage(wish, bot, bots, named);
  const fewer = short === 0 ? "" : tooFew(short, smallerTables(games, wish, bot, bots));
  return [seatsFilled(wish, company), why, gettingReady(late), fewer].filter(Boolean).join(" ");
}

/**
 * How many seats of a table of several nobody who is here would take, named ones aside: bots that want to play this or
 * get ready for it.
 * @param {Wish} wish
 * @param {string} me  who asks
 * @param {object[]} bots  of a listing
 * @param {Set<string>} named  in lower case
 */
export function shortage(wish, me, bots, named = new Set()) {
  if (wish.seats <= 2) return 0;
  const name = me.toLowerCase();
  const coming = bots.filter((other) => {
    const key = other.bot.toLowerCase();
    return key !== name && !named.has(key) && (wants(other, wish, name, false) || warmsUp(other, wish));
  });
  return Math.max(0, wish.seats - 1 - named.size - coming.length);
}

/**
 * Tables of the same game with fewer seats, for which enough are here, the largest first.
 * @param {import("./seek-form.js").GameOffered[]} games
 * @param {Wish} wish
 * @param {string} me  who asks
 * @param {object[]} bots  of a listing
 * @returns {{game: string, preset: string, pool: string, seats: number}[]}  `pool` is the preset that this is with so many seats
 */
export function smallerTables(games, wish, me, bots) {
  const name = me.toLowerCase();
  const presets = games.find(({ game }) => game === wish.game)?.presets ?? [];
  const tables = new Map();
  for (const { preset, seats, pools } of presets)
    for (const number of seats.filter((each) => each < wish.seats && pools[each] !== undefined))
      if (!tables.has(pools[number]) || preset === pools[number])
        tables.set(pools[number], { game: wish.game, preset, pool: pools[number], seats: number });
  const canBegin = ({ pool, seats }) => {
    const table = { game: wish.game, preset: pool, seats };
    return bots.filter((other) => other.bot.toLowerCase() !== name && wants(other, table, name, false)).length >= seats - 1;
  };
  return [...tables.values()].filter(canBegin).sort((one, other) => other.seats - one.seats).slice(0, MAX_SHOWN);
}

function tooFew(short, tables) {
  const more = `${short} more ${short === 1 ? "player is" : "players are"} needed. Nobody else online plays this, so the match starts when ${short === 1 ? "one comes" : "they come"}.`;
  if (tables.length === 0) return more;
  const titles = tables.map(({ game, pool }) => `“${presetTitle(game, pool)}”`);
  return `${more} Enough are online for ${listed(titles)}: stop waiting to choose ${titles.length === 1 ? "it" : "one of them"}.`;
}

/** Why some who are named do not play; `otherwise` says of one what it is here for. */
function absence(opponents, here, willing, elsewhere, wish) {
  const away = opponents.filter((name) => !here.has(name.toLowerCase()));
  if (away.length > 0)
    return `${listed(away)} ${away.length === 1 ? "is" : "are"} offline: the match starts when ${away.length === 1 ? "it connects" : "they connect"}.`;
  const missing = opponents.map((name) => here.get(name.toLowerCase())).filter((other) => !willing.includes(other));
  if (missing.length === 0) return "";
  const told = missing.map(elsewhere).filter(Boolean);
  if (told.length > 0) return `${told.join(" ")} Stop waiting and choose another opponent.`;
  const [names, isOne] = [listed(missing.map(({ bot }) => bot)), missing.length === 1];
  if (missing.every(({ client }) => client === CLIENT))
    return `${names} ${isOne ? "has" : "have"} been asked: the match starts when ${isOne ? "they accept" : "all accept"}.`;
  return `${names} ${isOne ? "is online but is" : "are online but are"} not ready to play ${gameTitle(wish.game)} with you. The match starts when ${isOne ? "it is" : "they are"}.`;
}

/** Which seats of a table of several are filled; empty where two play. */
function seatsFilled({ seats }, company) {
  if (seats <= 2) return "";
  const names = ["you", ...company.map(({ bot }) => bot)];
  if (names.length === seats) return `All ${seats} seats are taken, by ${listed(names)}. The match starts in a moment.`;
  return `${counted(names.length, "seat")} of ${seats} ${names.length === 1 ? "is" : "are"} taken, by ${listed(names)}.`;
}

function nobody(wish, ready, warming, others) {
  if (ready.length > 0 || wish.seats > 2) return "";
  if (warming.length > 0) return `Nobody else online can play ${said(wish)} yet.`;
  const alike = others.flatMap(({ bot, seeks = [] }) => {
    const [seek] = seeks.filter(({ game, preset, presets = [], ...seek }) => game === wish.game && (preset ?? presets[0]) && takesAnybody(seek));
    return seek === undefined ? [] : `${bot} wants ${poolTitle(wish.game, seek.preset ?? seek.presets[0])}`;
  });
  return alike.length > 0
    ? `Nobody else online wants to play ${said(wish)}, but ${listed(alike.slice(0, MAX_SHOWN))}.`
    : `Nobody else online wants to play ${gameTitle(wish.game)} now. The match starts when somebody does.`;
}

/** Who warms up for the game, for how long it has, and how long that takes; empty where nobody does. */
function gettingReady(warming) {
  if (warming.length === 0) return "";
  const longest = Math.max(...warming.map(({ warming_s: seconds = 0 }) => seconds));
  const since = longest >= 1 ? ` (${longest} s so far)` : "";
  const isOne = warming.length === 1;
  return `${listed(warming.map(({ bot }) => bot))} ${isOne ? "is" : "are"} getting ready for this game${since}: compiling ${isOne ? "its" : "their"} code takes ${WARM_UP_TEXT}.`;
}

function said({ game, preset }) {
  return preset === undefined ? gameTitle(game) : poolTitle(game, preset);
}

function warmsUp({ warming = [] }, { game }) {
  return warming.includes(game);
}

/** Whether a listed seek is for what is wanted; of configs that are no preset nobody knows whether they are the same. */
function fits({ game, preset, open, presets = [] }, wish) {
  if (game !== wish.game) return false;
  if (open) return presets.length === 0 || presets.includes(wish.preset);
  return preset === wish.preset;
}

/** Whether somebody seeks this in a way in which a person may meet them, who names them or anybody. */
function wants({ seeks = [] }, wish, me, isNamed) {
  return seeks.some(
    (seek) => fits(seek, wish) && (seek.open || asks(seek, me) || takesAnybody(seek) || (isNamed && seek.private)),
  );
}

/** Whether somebody wants an unrated match with whoever wants the same. */
function takesAnybody({ rated, opponents = [], private: isPrivate }) {
  return !rated && !isPrivate && opponents.length === 0;
}

/**
 * Whether a listed seek names somebody.
 * @param {{opponents?: string[]}} seek
 * @param {string} me  in lower case
 */
export function asks({ opponents = [] }, me) {
  return opponents.some((name) => name.toLowerCase() === me);
}
