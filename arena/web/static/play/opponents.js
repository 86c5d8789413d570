/** The choice of opponents among those online. */

import { CLIENT } from "../arena-socket.js";
import { el, put, say } from "../dom.js";
import { PLAYS_AT_ONCE_TEXT, otherwise, readiness } from "./who-plays.js";

const [NEW, UNSURE] = ["new", "little known"];
const MAX_RATED = 100; // of a pool, as the server says it: who is not among so many may have played

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
  #strength = new Map(); // name -> {word, order} at what is to be played
  /** @type {import("./who-plays.js").Wish} */
  #wish = { game: "", preset: undefined, seats: 2 };
  #changed;
  #bots = null;
  #matches = [];
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

  /**
   * What is to be played: who plays that differs, and how many are to be found. Of those who were chosen for something
   * else, who does not play this is chosen no more.
   * @param {import("./who-plays.js").Wish} wish
   */
  table(wish) {
    this.#wish = wish;
    this.#strength = strengthsAt(this.#strengths, wish.game, wish.preset);
    for (const name of this.#wanted) if (this.#otherwise(name) !== "") this.#wanted.delete(name);
    for (const name of [...this.#wanted].slice(this.#others)) this.#wanted.delete(name);
    this.#keepOnly(new Set());
    this.#draw();
  }

  /** A `listing`. */
  here({ bots, matches = [] }, me) {
    this.#bots = bots;
    this.#matches = matches;
    this.#me = me.toLowerCase();
    this.#draw();
  }

  /** Return the error of the choice for a person, as a sentence; empty if it is valid. */
  wrongFor(me) {
    const isOwn = this.chosen.some((name) => name.toLowerCase() === me.toLowerCase());
    if (isOwn) return "You cannot play against yourself: choose another opponent.";
    const unfit = this.chosen.map((name) => this.#otherwise(name)).find((told) => told !== "");
    return unfit === undefined ? "" : `${unfit} Choose another opponent.`;
  }

  get #others() {
    return this.#wish.seats - 1;
  }

  /** What a bot is here for that does not play what is wanted; empty where it may play that. */
  #otherwise(name) {
    const found = (this.#bots ?? []).find(({ bot }) => bot.toLowerCase() === name.toLowerCase());
    return found === undefined ? "" : otherwise(found, this.#wish, this.#me, this.#matches);
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
    const open = shown.filter(({ how }) => how === PLAYS_AT_ONCE_TEXT).length;
    if (this.#others === 1)
      shown.unshift({
        name: "",
        version: "",
        strength: "",
        how: open > 0 ? "the next person; after a short wait, a bot" : "the next player who comes",
      });
    const type = this.#others === 1 ? "radio" : "checkbox";
    const full = type === "checkbox" && this.chosen.length >= this.#others;
    this.#keepOnly(new Set(shown.map(({ name }) => name)));
    for (const [at, { name, display = "", version, strength, how }] of shown.entries()) {
      const row = this.#row(name, display, version, type);
      row.input.checked = name === "" ? this.chosen.length === 0 : this.#wanted.has(name);
      row.input.disabled = full && !row.input.checked;
      say(row.note, how);
      say(row.strength, strength === name ? "" : strength); // avoid "perfect" twice
      put(row.element, "data-at-once", how === PLAYS_AT_ONCE_TEXT);
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

  /** The bots here that play this, and who is chosen, those first who play soonest, of them the weakest. */
  #shown() {
    const here = (this.#bots ?? []).filter(({ bot }) => bot.toLowerCase() !== this.#me);
    const rows = here.flatMap((bot) => {
      const known = this.#strength.get(bot.bot);
      const isRated = known?.pool === `${this.#wish.game}/${this.#wish.preset}`;
      const soon = readiness(bot, this.#wish, this.#me, this.#matches, isRated);
      if (soon === null && !this.#wanted.has(bot.bot)) return [];
      const what = soon ?? { how: "online, but not available for this game", order: 5 };
      return { name: bot.bot, display: bot.display ?? "", version: bot.version ?? "", strength: this.#word(bot, known), ...what };
    });
    for (const name of this.#wanted) {
      if (!here.some(({ bot }) => bot === name))
        rows.push({
          name,
          version: "",
          strength: "",
          how: this.#bots === null ? "" : "offline: you wait until they connect",
          order: 4,
        });
    }
    const place = ({ name }) => this.#strength.get(name)?.order ?? Infinity;
    return rows.sort(
      (one, other) =>
        one.order - other.order || compare(place(one), place(other)) || natural(one.name, other.name),
    );
  }

  /** The strength of a bot in a word: new if it has never been rated at the game; empty where nobody knows, and of people. */
  #word({ client }, known) {
    if (known !== undefined) return known.word;
    const isWhole = Object.entries(this.#strengths).every(
      ([pool, bots]) => !pool.startsWith(`${this.#wish.game}/`) || bots.length < MAX_RATED,
    );
    return isWhole && client !== CLIENT ? NEW : "";
  }

  #summary(open) {
    if (this.#bots === null) return "Loading the bots that are online …";
    if (this.#others === 1) return open > 0 || this.#rows.size > 1 ? "" : "No one online plays this.";
    const rest = this.#others - this.chosen.length;
    if (rest === 0) return "All opponents are chosen.";
    const few = open < this.#others ? ` (${open} online now)` : "";
    return `Choose up to ${this.#others}. The other seats go to the next people or, after a short wait, to bots${few}.`;
  }

  #row(name, display, version, type) {
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
      el("span", {}, label, display === "" ? null : el("bdi", { class: "display" }, ` ${display}`), version === "" ? null : el("span", { class: "faint" }, ` ${version}`)),
      strength,
      note,
    );
    const row = { element, input, strength, note };
    this.#rows.set(name, row);
    return row;
  }
}

/**
 * Return the known strengths of bots in a preset, or in another preset of the game if they have none there. Bots of the
 * same word are equals in order, and so are all that are little known: their ratings say less than their names.
 */
function strengthsAt(strengths, game, preset) {
  const others = Object.keys(strengths).filter((pool) => pool.startsWith(`${game}/`));
  const found = new Map();
  for (const pool of [...others.reverse(), `${game}/${preset}`])
    for (const [bot, word] of strengths[pool] ?? []) {
      const order = word === UNSURE ? Infinity : strengths[pool].findIndex(([, other]) => other === word);
      found.set(bot, { word, order, pool });
    }
  return found;
}

/** Compare names as people do: level-2 before level-10. */
function natural(one, other) {
  return one.localeCompare(other, "en", { numeric: true });
}

function compare(one, other) {
  return one === other ? 0 : one - other;
}
