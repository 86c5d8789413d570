/** An invitation: a link that seats a friend, as whoever sends it sees it, and what an address invites to. */

import { copied } from "../clipboard.js";
import { el, say } from "../dom.js";
import { wrongWith } from "../identity.js";
import { HERE, HERE_ALONE } from "../own-address.js";

/**
 * @typedef {object} Invitation
 * @property {string} host  who waits
 * @property {{game: string, config: object}} what
 */

/**
 * The address of an invitation.
 * @param {Invitation} invitation
 */
export function linkOf({ host, what: { game, config } }) {
  const { preset, ...more } = config;
  const isPreset = preset !== undefined && Object.keys(more).length === 0;
  const said = { from: host, game, ...(isPreset ? { preset } : { config: JSON.stringify(config) }) };
  return `${HERE}/play?${new URLSearchParams(said)}`;
}

/**
 * What an address invites to; null where it is no invitation, or one that was cut or changed on its way.
 * @param {URLSearchParams} asked
 * @param {{game: string}[]} games  that are played here
 * @returns {Invitation | null}
 */
export function invitationIn(asked, games) {
  const [host, game] = [asked.get("from") ?? "", asked.get("game")];
  const config = asked.has("preset") ? { preset: asked.get("preset") } : mapIn(asked.get("config") ?? "{}");
  if (wrongWith(host) !== "" || config === null || !games.some((other) => other.game === game)) return null;
  return { host, what: { game, config } };
}

/** The map in a JSON text; null if it is none. */
function mapIn(text) {
  try {
    const read = JSON.parse(text);
    return typeof read === "object" && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}

/**
 * The link with a button that copies it, for whoever invites.
 * @param {Invitation} invitation
 * @returns {HTMLElement}
 */
export function makeLink(invitation) {
  const link = el("input", { id: "link", readonly: true, value: linkOf(invitation), onfocus: () => link.select() });
  const told = el("span", { class: "small", role: "status" });
  const copy = async () => {
    say(told, (await copied(link.value, () => link.select())) ? "Copied." : "It is selected: copy it with your keyboard or its menu.");
  };
  return el(
    "div",
    {},
    el("label", { for: "link" }, "Send your friend this link, and leave this page open:"),
    el("div", { class: "row" }, link, el("button", { type: "button", class: "main", onclick: copy }, "Copy the link"), told),
    el("p", { class: "small faint" }, HERE_ALONE),
  );
}
