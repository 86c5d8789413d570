/** The view of a person who opens an invitation: who invites to what, a field for the name, and a button. */

import { complain, el, say } from "../dom.js";
import { nameError } from "../identity.js";
import { TokenField, propose } from "./person-fields.js";
import { poolTitle } from "../titles.js";

/** The form of an invitation. It calls `onPlay(wanted)` when it is complete, like `Offer`. */
export class Invited {
  /** @type {(wanted: import("./seek-form.js").Wanted) => void} */
  onPlay = () => {};
  #invitation;
  #wish;
  #name;
  #wrong;
  #told;

  /**
   * @param {HTMLElement} place
   * @param {import("./invitation.js").Invitation} invitation
   * @param {import("./who-plays.js").Wish} wish  what it invites to
   * @param {boolean} isClosed  whether no name is registered by who comes
   */
  constructor(place, invitation, wish, isClosed) {
    this.#wish = wish;
    const { host, what } = invitation;
    this.#invitation = invitation;
    this.title = `${host} invites you to play ${poolTitle(what.game, what.config.preset)}`;
    this.#name = el("input", {
      id: "guest",
      maxlength: 32,
      autocomplete: "nickname",
      autocapitalize: "off",
      spellcheck: "false",
      "aria-describedby": "wrong-guest",
      oninput: () => {
        this.wrong("bot", "");
        this.token.name(this.bot);
      },
    });
    const token = el("input", {
      id: "guest-token",
      type: "password",
      maxlength: 200,
      autocomplete: "current-password",
      "aria-describedby": "wrong-guest-token",
    });
    const wrongToken = el("span", { id: "wrong-guest-token", class: "wrong", role: "alert" });
    const tokenBox = el("div", { class: "field name token", hidden: true }, el("label", { for: "guest-token" }, "Your token"), token);
    this.token = new TokenField(token, wrongToken, isClosed);
    this.#wrong = el("span", { id: "wrong-guest", class: "wrong", role: "alert" });
    this.#told = el("p", { "aria-live": "polite" }, `Checking whether ${host} is online …`);
    const form = el(
      "form",
      { class: "go", novalidate: true, onsubmit: (event) => this.#submit(event) },
      el("div", { class: "field name" }, el("label", { for: "guest" }, "Your name"), this.#name),
      tokenBox,
      el("button", { class: "main play" }, `Play ${host}`),
      this.#wrong,
      wrongToken,
    );
    this.token.name("");
    const rules = el("a", { href: `/rules/${encodeURIComponent(what.game)}` }, "How to play");
    const other = el("a", { href: `/play?game=${encodeURIComponent(what.game)}` }, "Choose another opponent");
    place.replaceChildren(this.#told, form, el("p", { class: "row" }, rules, other));
  }

  /** The name in the form. */
  get bot() {
    return this.#name.value.trim();
  }

  set bot(name) {
    this.#name.value = name;
    this.token.name(name);
  }

  /** Take a `listing`: show whether the host is online and waits. */
  here({ bots, more_bots: more = 0 }) {
    const { host } = this.#invitation;
    const { game, preset } = this.#wish;
    const found = bots.find(({ bot }) => bot.toLowerCase() === host.toLowerCase());
    const waits = found?.seeks?.some((seek) => seek.private && seek.game === game && seek.preset === preset);
    if (waits) say(this.#told, `${host} is waiting for you.`);
    else if (found?.playing) say(this.#told, `${host} is in another match. If you press Play, your match starts when ${host} returns.`);
    else if (found || more) say(this.#told, `${host} is online but not waiting. If you press Play, ${host} is asked to join you.`);
    else say(this.#told, `${host} is offline. If you press Play, your match starts when ${host} returns. Or play a bot.`);
  }

  /** Show or remove an error beside the name. */
  wrong(_, sentence) {
    complain(this.#name, this.#wrong, sentence);
  }

  /** Focus the name, or the button if there is a name. */
  focus() {
    (this.bot === "" ? this.#name : this.#name.form.querySelector("button")).focus();
  }

  #submit(event) {
    event.preventDefault();
    if (propose(this.#name, (sentence) => this.wrong("bot", sentence))) {
      this.token.name(this.bot);
      return;
    }
    const { host, what } = this.#invitation;
    const isHost = this.bot.toLowerCase() === host.toLowerCase();
    const wrong = isHost ? `${host} sent this invitation: send this page's address to a friend, or enter another name.` : nameError(this.bot);
    this.wrong("bot", wrong);
    if (wrong === "" && this.token.check()) this.onPlay({ bot: this.bot, token: this.token.value, what, opponents: [host] });
  }
}
