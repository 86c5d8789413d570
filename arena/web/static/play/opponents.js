/** The choice of opponents among those online. */

import { el, put, say } from "../dom.js";
import { CLIENT } from "../arena-socket.js";
import { listed } from "../format.js";
import { gameTitle, poolTitle } from "../titles.js";

const AT_ONCE = "plays at once";

/** @typedef {Record<string, [bot: string, word: string][]>} Strengths by pool, weakest bot first */

/** The choice of opponents: with two seats, one or anybody; with more seats, up to that many names. */
export class Opponents {
  #box;
  #list;
  #told;
  #named;
  #rows = new Map(); // name -> {element, input, strength, note}
  #wanted = new Set();
  #strengths;
  #strength = new Map(); // name -> {word, order} in the chosen game
  #game = "";
  #others = 1;
  #changed;
  #bots = null;
  #me = "";

  /**
   * @param {HTMLFieldSetElement} box
   * @param {Strengths} strengths
   * @param {() => void} changed called when the choice changes
   */
  constructor(box, strengths, changed) {
    this.#box = box;
    this.#strengths = strengths;
    this.#changed = changed;
    this.#list = box.querySelector(".here");
    this.#told = box.querySelector(".told");
    this.#named = box.querySelector("[name=named]");
    this.#named.addEventListener("input", () => this.#draw());
    this.#named.addEventListener("change", () => this.#changed());
    this.#list.addEventListener("change", ({ target }) => this.#choose(target));
  }

  /** The chosen names; empty for anybody. */
  get chosen() {
    const named = this.#named.value.trim();
    return [...this.#wanted, ...(named === "" || this.#wanted.has(named) ? [] : [named])].slice(0, this.#others);
  }

  /** Choose these names, online or not. */
  want(names) {
    this.#wanted = new Set(names);
    this.#draw();
  }

  /** Set the game and the number of seats, which determine who plays at once and how many can be chosen. */
  table(game, preset, seats) {
    this.#game = game;
    this.#strength = strengthsAt(this.#strengths, game, preset);
    this.#others = seats - 1;
    for (const name of [...this.#wanted].slice(this.#others)) this.#wanted.delete(name);
    this.#keepOnly(new Set());
    this.#draw();
  }

  /** Take a `listing`. */
  here({ bots }, me) {
    this.#bots = bots;
    this.#me = me.toLowerCase();
    this.#draw();
  }

  /** Return the error of the choice for a person, as a sentence; empty if it is valid. */
  wrongFor(me) {
    const isOwn = this.chosen.some((name) => name.toLowerCase() === me.toLowerCase());
    return isOwn ? "Nobody plays against themselves: choose another opponent." : "";
  }

  #choose(input) {
    if (input.type === "radio") {
      this.#wanted.clear();
      this.#named.value = "";
    }
    if (input.value !== "") this.#wanted[input.checked ? "add" : "delete"](input.value);
    this.#draw();
    this.#changed();
  }

  #draw() {
    const shown = this.#shown();
    const open = shown.filter(({ how }) => how === AT_ONCE).length;
    if (this.#others === 1)
      shown.unshift({
        name: "",
        version: "",
        strength: "",
        how: open > 0 ? "the next to come; after a short wait, a bot" : "the next to come",
      });
    const type = this.#others === 1 ? "radio" : "checkbox";
    const full = type === "checkbox" && this.chosen.length >= this.#others;
    this.#keepOnly(new Set(shown.map(({ name }) => name)));
    for (const [at, { name, version, strength, how }] of shown.entries()) {
      const row = this.#row(name, version, type);
      row.input.checked = name === "" ? this.chosen.length === 0 : this.#wanted.has(name);
      row.input.disabled = full && !row.input.checked;
      say(row.note, how);
      say(row.strength, strength === name ? "" : strength); // avoid "perfect" twice
      put(row.element, "data-at-once", how === AT_ONCE);
      const there = this.#list.children[at] ?? null;
      if (there !== row.element) this.#list.insertBefore(row.element, there);
    }
    say(this.#told, this.#summary(open));
  }

  #keepOnly(names) {
    for (const [name, { element }] of this.#rows) {
      if (names.has(name)) continue;
      element.remove();
      this.#rows.delete(name);
    }
  }

  /** Return the online bots and the chosen others, those that play soonest first, and then the weakest. */
  #shown() {
    const here = (this.#bots ?? []).filter(({ bot }) => bot.toLowerCase() !== this.#me);
    const rows = here.map((bot) => ({
      name: bot.bot,
      version: bot.version ?? "",
      strength: this.#strength.get(bot.bot)?.word ?? "",
      ...readiness(bot, this.#game, this.#me),
    }));
    for (const name of this.#wanted) {
      if (!here.some(({ bot }) => bot === name))
        rows.push({
          name,
          version: "",
          strength: "",
          how: this.#bots === null ? "" : "offline: you wait until they come",
          order: 4,
        });
    }
    const place = ({ name }) => this.#strength.get(name)?.order ?? Infinity;
    return rows.sort(
      (one, other) =>
        one.order - other.order || compare(place(one), place(other)) || one.name.localeCompare(other.name),
    );
  }

  #summary(open) {
    if (this.#bots === null) return "Loading who is online …";
    if (this.#others === 1) return "";
    const rest = this.#others - this.chosen.length;
    if (rest === 0) return "All opponents are chosen.";
    const few = open < this.#others ? ` (${open} online now)` : "";
    return `Choose up to ${this.#others}. The others are the next to come or, after a short wait, bots${few}.`;
  }

  #row(name, version, type) {
    const kept = this.#rows.get(name);
    if (kept !== undefined) return kept;
    const input = el("input", { type, name: "opponent", value: name });
    const note = el("span", { class: "faint" });
    const strength = el("span", { class: "strength" });
    const label = el("b", {}, name === "" ? "Anybody" : name);
    const element = el(
      "label",
      { class: "opponent" },
      input,
      el("span", {}, label, version === "" ? null : el("span", { class: "faint" }, ` ${version}`)),
      strength,
      note,
    );
    const row = { element, input, strength, note };
    this.#rows.set(name, row);
    return row;
  }
}

/** Return the known strengths of bots in a preset, or in another preset of the game if they have none there. */
function strengthsAt(strengths, game, preset) {
  const others = Object.keys(strengths).filter((pool) => pool.startsWith(`${game}/`));
  const found = new Map();
  for (const pool of [...others.reverse(), `${game}/${preset}`])
    for (const [order, [bot, word]] of (strengths[pool] ?? []).entries()) found.set(bot, { word, order });
  return found;
}

function compare(one, other) {
  return one === other ? 0 : one - other;
}

/** Return how soon a bot plays, in words and as a sort key. */
function readiness({ seeks = [], client, playing = 0 }, game, me) {
  const these = seeks.filter((seek) => seek.game === game);
  const calls = seeks.find((seek) => asks(seek, me));
  if (calls !== undefined)
    return { how: `waits for you: ${calls.preset ? poolTitle(calls.game, calls.preset) : `${gameTitle(calls.game)} under a config of their own`}`, order: 0 };
  if (these.some(({ open }) => open)) return { how: AT_ONCE, order: 1 };
  const unrated = these.find(takesAnybody);
  if (unrated !== undefined)
    return { how: `wants an unrated match: ${unrated.preset ? poolTitle(game, unrated.preset) : "a config of its own"}`, order: 2 };
  if (these.some((seek) => seek.private)) return { how: "waits for a friend", order: 3 };
  if (client === CLIENT)
    return { how: playing > 0 ? "a person, playing now" : "a person: agree with them to name each other", order: 3 };
  if (playing > 0 && seeks.length === 0) return { how: "busy in a match", order: 4 };
  return { how: "online, but not playing this now", order: 5 };
}

/**
 * Return what keeps a seek waiting, as a sentence; empty if the listing shows no reason.
 * @param {{game: string, opponents: string[], private: boolean}} seek
 * @param {string} bot the seeker
 * @param {{bots: object[], more_bots?: number}} listing
 */
export function hindrance({ game, opponents, private: isPrivate }, bot, { bots, more_bots = 0 }) {
  if (more_bots > 0 || isPrivate) return ""; // bots that are not listed may be online
  const me = bot.toLowerCase();
  const isNamed = opponents.length > 0;
  const here = new Map(bots.map((other) => [other.bot.toLowerCase(), wants(other, game, me, isNamed)]));
  here.delete(me);
  const away = opponents.filter((name) => !here.has(name.toLowerCase()));
  if (away.length > 0)
    return `${listed(away)} ${away.length === 1 ? "is" : "are"} not here now: the match begins when ${away.length === 1 ? "it comes" : "they come"}.`;
  const others = opponents.filter((name) => !here.get(name.toLowerCase()));
  const people = new Set(bots.filter(({ client }) => client === CLIENT).map(({ bot: name }) => name.toLowerCase()));
  if (others.length > 0 && others.every((name) => people.has(name.toLowerCase())))
    return `${listed(others)} ${others.length === 1 ? "is" : "are"} asked: the match begins when ${others.length === 1 ? "they accept" : "all accept"}.`;
  if (others.length > 0)
    return `${listed(others)} ${others.length === 1 ? "is here, but does" : "are here, but do"} not want to play ${gameTitle(game)} with you now: the match begins when ${others.length === 1 ? "it does" : "they do"}.`;
  if (opponents.length === 0 && ![...here.values()].includes(true))
    return `Nobody else here wants to play ${gameTitle(game)} now: the match begins when somebody does.`;
  return "";
}

/** Return whether a bot seeks a game in a way that can match the person, by name or openly. */
function wants({ seeks = [] }, game, me, isNamed) {
  return seeks.some(
    (seek) => seek.game === game && (seek.open || asks(seek, me) || takesAnybody(seek) || (isNamed && seek.private)),
  );
}

/** Return whether a seek is for an unrated match with anybody. */
function takesAnybody({ rated, opponents = [], private: isPrivate }) {
  return !rated && !isPrivate && opponents.length === 0;
}

/**
 * Return whether a listed seek names somebody.
 * @param {{opponents?: string[]}} seek
 * @param {string} me in lower case
 */
export function asks({ opponents = [] }, me) {
  return opponents.some((name) => name.toLowerCase() === me);
}
