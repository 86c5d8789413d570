/** The form in which a person chooses what to play, and against whom. */

import { boardClass, hasBoard } from "../board/index.js";
import { complain, el, put, say } from "../dom.js";
import { forget, tokenOf, nameError } from "../identity.js";
import { Opponents } from "./opponents.js";
import { TokenField, propose } from "./person-fields.js";
import { asks, readiness, shortage, smallerTables } from "./who-plays.js";
import { gameTitle, poolTitle, presetTitle } from "../titles.js";

/**
 * @typedef {object} GameOffered
 * @property {string} game
 * @property {{preset: string, config: object, seats: number[], usual: number, pools: Record<number, string>, graded: string}[]} presets
 * @property {string} first  the preset that is chosen at first
 * @property {boolean} tutorial  whether there is one
 *
 * @typedef {object} Wanted
 * @property {string} bot  the person's name
 * @property {string} [token]  of the name, where it was typed
 * @property {{game: string, config: object}} what
 * @property {string[]} opponents the named ones; other seats are for anybody
 */

/** The form. It calls `onPlay(wanted)`, or `onInvite(wanted)` to wait for a friend, when it is complete. */
export class Offer {
  /** @type {(wanted: Wanted) => void} */
  onPlay = () => {};
  /** @type {(wanted: Wanted) => void} */
  onInvite = () => {};
  /** Called when the person's name is to be forgotten here. */
  onForget = () => {};
  #form;
  #games;
  #listing = null;
  #isOpen = false; // an address names an opponent, and leaves open what is played

  /**
   * @param {HTMLFormElement} form
   * @param {GameOffered[]} games
   * @param {import("./opponents.js").Strengths} strengths
   */
  constructor(form, games, strengths) {
    this.#form = form;
    this.#games = games;
    this.opponents = new Opponents(form.querySelector("#opponents"), strengths, () => this.#keepAddress());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(this.opponents.chosen, this.onPlay);
    });
    form.querySelector(".invite").addEventListener("click", () => this.#submit([], this.onInvite));
    for (const radio of form.querySelectorAll("[name=game]"))
      radio.addEventListener("change", () => this.#gameChanged());
    this.#field("preset").addEventListener("change", () => this.#presetChanged());
    this.#field("seats").addEventListener("change", () => this.#seatsChanged());
    this.#field("own").addEventListener("change", () => this.#keepAddress());
    const isClosed = form.dataset.closed !== undefined;
    this.token = new TokenField(this.#field("token"), form.querySelector("#wrong-token"), isClosed);
    this.#field("bot").addEventListener("input", () => {
      this.wrong("bot", "");
      this.#named();
    });
    form.querySelector("#forget")?.addEventListener("click", () => this.#forget());
    this.#named();
    this.#fromAddress(new URLSearchParams(location.search));
  }

  /** The name in the form. */
  get bot() {
    return this.#field("bot").value.trim();
  }

  set bot(name) {
    this.#field("bot").value = name;
    this.#named();
  }

  /** The name is another one: whether its token is to be typed, or can be forgotten. */
  #named() {
    this.token.name(this.bot);
    const button = this.#form.querySelector("#forget");
    if (button !== null) put(button, "hidden", tokenOf(this.bot) === undefined);
  }

  #forget() {
    forget(this.bot);
    this.bot = "";
    this.onForget();
    this.#field("bot").focus();
  }

  /** Take a `listing` of who is online. */
  here(listing) {
    if (this.#isOpen) this.#follow(listing);
    this.#listing = listing;
    this.opponents.here(listing, this.bot);
    this.#offerFewer();
    this.#invitations(listing.bots);
  }

  /** Of what an address leaves open, choose what the opponent that it names plays. */
  #follow({ bots, matches = [] }) {
    const [name = ""] = this.opponents.chosen;
    const found = bots.find(({ bot }) => bot.toLowerCase() === name.toLowerCase());
    if (found === undefined) return;
    this.#isOpen = false;
    const asked = new URLSearchParams(location.search);
    const games = this.#games.filter(({ game }) => !asked.has("game") || game === asked.get("game"));
    const first = [this.#preset, ...this.#game.presets].map((preset) => [this.#game, preset]);
    const plays = ([{ game }, { preset, usual, pools }]) =>
      readiness(found, { game, preset: pools[usual], seats: usual }, this.bot.toLowerCase(), matches, false) !== null;
    const all = games.flatMap((game) => game.presets.map((preset) => [game, preset]));
    const choice = [...first, ...all].filter(([game]) => games.includes(game)).find(plays);
    if (choice === undefined) return;
    const [{ game }, { preset }] = choice;
    this.#form.querySelector(`[name=game][value="${CSS.escape(game)}"]`).checked = true;
    this.#fillPresets();
    this.#field("preset").value = preset;
    this.#presetChanged();
  }

  /** Say what is wrong with a field, or no more. */
  wrong(name, sentence) {
    complain(this.#field(name), this.#form.querySelector(`#wrong-${name}`), sentence);
  }

  /** Show who waits for this person, with a button to accept. Seeks with an own config are left out: it is not listed. */
  #invitations(bots) {
    const me = this.bot.toLowerCase();
    const calls = bots.flatMap(({ bot, seeks = [] }) =>
      seeks.filter((seek) => seek.preset !== undefined && asks(seek, me)).map((seek) => ({ bot, ...seek })),
    );
    const key = JSON.stringify(calls);
    const box = this.#form.querySelector("#calls");
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.replaceChildren(
      ...calls.map(({ bot, game, preset, opponents }) => {
        const others = [bot, ...opponents.filter((name) => name.toLowerCase() !== me)];
        const play = () => this.onPlay({ bot: this.bot, what: { game, config: { preset } }, opponents: others });
        return el(
          "p",
          { class: "banner live row apart" },
          el("span", {}, el("b", {}, bot), ` wants to play ${poolTitle(game, preset)} with you`),
          el("button", { type: "button", class: "main", onclick: play }, `Play ${bot}`),
        );
      }),
    );
  }

  /** Focus the button, or the name if it is missing. */
  focus() {
    (this.bot === "" ? this.#field("bot") : this.#form.querySelector("button.main")).focus();
  }

  #field(name) {
    return this.#form.elements.namedItem(name);
  }

  get #game() {
    return this.#games.find(({ game }) => game === this.#field("game").value);
  }

  get #preset() {
    return this.#game.presets.find(({ preset }) => preset === this.#field("preset").value);
  }

  get #seats() {
    return Number(this.#field("seats").value);
  }

  #fromAddress(asked) {
    const game = this.#games.find((other) => other.game === asked.get("game")) ?? this.#games[0];
    this.#form.querySelector(`[name=game][value="${CSS.escape(game.game)}"]`).checked = true;
    this.#fillPresets();
    if (game.presets.some(({ preset }) => preset === asked.get("preset")))
      this.#field("preset").value = asked.get("preset");
    if (asked.has("config")) {
      this.#field("preset").value = "";
      this.#field("own").value = asked.get("config");
    }
    this.#fillSeats();
    if (asked.has("seats")) this.#field("seats").value = asked.get("seats");
    if (this.#field("seats").value === "") this.#field("seats").selectedIndex = 0;
    this.#describe();
    this.opponents.want(asked.getAll("opponent"));
    this.#isOpen = asked.getAll("opponent").length === 1 && !asked.has("preset") && !asked.has("config");
    this.#lay();
  }

  /** Adapt the choice of opponents to the number of seats; a friend can be invited to a table of two. */
  #lay() {
    this.opponents.table(this.#wish);
    put(this.#form.querySelector(".invite"), "hidden", this.#seats !== 2);
    this.#offerFewer();
  }

  get #wish() {
    return { game: this.#game.game, preset: this.#preset?.pools[this.#seats], seats: this.#seats };
  }

  /** Say that too few are here for the chosen seats, and offer tables for which there are enough. */
  #offerFewer() {
    const { bots, more_bots: more = 0 } = this.#listing ?? { bots: [], more_bots: 1 }; // who is not listed may be here
    const short = more > 0 ? 0 : shortage(this.#wish, this.bot, bots);
    const tables = short === 0 ? [] : smallerTables(this.#games, this.#wish, this.bot, bots);
    const box = this.#form.querySelector(".fewer");
    const key = JSON.stringify([short, this.#seats, tables]);
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    put(box, "hidden", short === 0);
    const others = this.#seats - 1;
    const here = others - short;
    const told = `You need ${others} other players, and ${here === 0 ? "none is" : here > 1 ? `only ${here} are` : "only 1 is"} online: you would have to wait for more.`;
    box.replaceChildren(
      el("span", {}, tables.length === 0 ? told : `${told} Enough are online for`),
      ...tables.map((table) =>
        el("button", { type: "button", onclick: () => this.#take(table) }, `${presetTitle(table.game, table.pool)}`),
      ),
    );
  }

  /** Choose another table of the game. */
  #take({ preset, seats }) {
    this.#field("preset").value = preset;
    this.#presetChanged();
    this.#field("seats").value = seats;
    this.#seatsChanged();
    this.#field("preset").focus();
  }

  #fillPresets() {
    const presets = this.#game.presets.map(({ preset }) => new Option(presetTitle(this.#game.game, preset), preset));
    this.#field("preset").replaceChildren(...presets, new Option("Custom settings …", ""));
    this.#field("preset").value = this.#game.first;
  }

  /** Offer the possible numbers of seats; for an own config only the arena knows it. */
  #fillSeats() {
    const all = [...new Set(this.#game.presets.flatMap(({ seats }) => seats))].sort((one, other) => one - other);
    const seats = this.#preset?.seats ?? all;
    const usual = this.#preset?.usual ?? seats[0];
    this.#field("seats").replaceChildren(
      ...seats.map((number) => new Option(number, number, number === usual, number === usual)),
    );
    put(this.#form.querySelector("#seats"), "hidden", seats.length < 2);
  }

  #gameChanged() {
    this.#isOpen = false;
    this.#field("own").value = "";
    this.#fillPresets();
    this.#presetChanged();
  }

  #presetChanged() {
    this.#fillSeats();
    this.#describe();
    this.#seatsChanged();
  }

  #seatsChanged() {
    this.#lay();
    this.#keepAddress();
  }

  #describe() {
    const own = this.#preset === undefined;
    const rules = this.#form.querySelector("#rules");
    put(rules, "href", `/rules/${encodeURIComponent(this.#game.game)}`);
    say(rules, `How to play ${gameTitle(this.#game.game)}`);
    const lesson = this.#form.querySelector("#lesson");
    const { game, tutorial } = this.#game;
    put(lesson, "href", tutorial ? `/play/tutorial/${encodeURIComponent(game)}` : null);
    put(lesson, "hidden", !tutorial);
    put(this.#form.querySelector("#own"), "hidden", !own);
    this.#describePreset();
    if (own && this.#field("own").value === "") this.#field("own").value = JSON.stringify(this.#game.presets[0].config);
    this.wrong("own", "");
  }

  /** Describe the preset's config, except for the seats, which the form shows. The board's script has the words. */
  async #describePreset() {
    const { game } = this.#game;
    const preset = this.#preset;
    await hasBoard(game);
    if (preset !== this.#preset) return;
    const { players, ...config } = preset?.config ?? {};
    say(this.#form.querySelector("#config"), preset === undefined ? "" : boardClass(game).configText(config));
  }

  /** Keep the choice in the URL, so that it can be shared. */
  #keepAddress() {
    this.#isOpen = false;
    const said = new URLSearchParams({ game: this.#game.game });
    if (this.#preset === undefined) said.set("config", this.#field("own").value);
    else said.set("preset", this.#preset.preset);
    if (this.#seats !== 2) said.set("seats", this.#seats);
    for (const bot of this.opponents.chosen) said.append("opponent", bot);
    history.replaceState(null, "", `?${said}`);
  }

  #submit(opponents, then) {
    if (propose(this.#field("bot"), (sentence) => this.wrong("bot", sentence))) {
      this.#named();
      return;
    }
    const wrong = nameError(this.bot);
    this.wrong("bot", wrong);
    const config = this.#config();
    if (wrong !== "" || config === null || !this.token.check()) return;
    const unfit = opponents.length === 0 ? "" : this.opponents.wrongFor(this.bot);
    this.wrong("named", unfit);
    if (unfit === "") {
      const { game } = this.#game;
      then({ bot: this.bot, token: this.token.value, what: { game, config }, opponents });
    }
  }

  #config() {
    if (this.#preset !== undefined) {
      const { preset, usual } = this.#preset;
      return this.#seats === usual ? { preset } : { preset, players: this.#seats };
    }
    try {
      const config = JSON.parse(this.#field("own").value || "{}");
      if (typeof config === "object" && config !== null && !Array.isArray(config)) {
        this.wrong("own", "");
        return config;
      }
    } catch {
      // reported below
    }
    this.wrong("own", 'This is not a JSON object like {"preset": "classic"}: put keys and strings in double quotes.');
    return null;
  }
}
