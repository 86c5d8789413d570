/** Invitations: the link that gives a friend a seat, and its parser. */

import { copied } from "../clipboard.js";
import { el, say } from "../dom.js";
import { nameError } from "../identity.js";
import { ORIGIN, LOCAL_ADDRESS_WARNING } from "../own-address.js";

/**
 * @typedef {object} Invitation
 * @property {string} host the person who waits
 * @property {{game: string, config: object}} what
 */

/**
 * Return the URL of an invitation.
 * @param {Invitation} invitation
 */
export function linkOf({ host, what: { game, config } }) {
  const { preset, ...more } = config;
  const isPreset = preset !== undefined && Object.keys(more).length === 0;
  const said = { from: host, game, ...(isPreset ? { preset } : { config: JSON.stringify(config) }) };
  return `${ORIGIN}/play?${new URLSearchParams(said)}`;
}

/**
 * Parse an invitation; null if there is none, or if it was damaged.
 * @param {URLSearchParams} asked
 * @param {{game: string}[]} games the games played here
 * @returns {Invitation | null}
 */
export function invitationIn(asked, games) {
  const [host, game] = [asked.get("from") ?? "", asked.get("game")];
  const config = asked.has("preset") ? { preset: asked.get("preset") } : mapIn(asked.get("config") ?? "{}");
  if (nameError(host) !== "" || config === null || !games.some((other) => other.game === game)) return null;
  return { host, what: { game, config } };
}

/** Parse a JSON object; null if the text is none. */
function mapIn(text) {
  try {
    const read = JSON.parse(text);
    return typeof read === "object" && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}

/**
 * Create the link with a copy button, for the inviting person.
 * @param {Invitation} invitation
 * @returns {HTMLElement}
 */
export function makeLink(invitation) {
  const link = el("input", { id: "link", readonly: true, value: linkOf(invitation), onfocus: () => link.select() });
  const told = el("span", { class: "small", role: "status" });
  const copy = async () => {
    say(told, (await copied(link.value, () => link.select())) ? "Copied." : "The link is selected: press Ctrl-C, or copy it from the menu.");
  };
  return el(
    "div",
    {},
    el("label", { for: "link" }, "Send your friend this link, and leave this page open:"),
    el("div", { class: "row" }, link, el("button", { type: "button", class: "main", onclick: copy }, "Copy the link"), told),
    el("p", { class: "small faint" }, LOCAL_ADDRESS_WARNING),
  );
}
