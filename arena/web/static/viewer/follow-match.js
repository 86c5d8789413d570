/** Follows a live match: its document grows with every turn, until the stored match replaces it. */

import { hasBoardOfRecord } from "../board/index.js";
import { showConnection } from "../connection-banner.js";
import { el, say } from "../dom.js";
import { openSocket } from "../arena-socket.js";
import { poolTitle } from "../titles.js";
import { LiveDocument } from "./live.js";
import { Viewer } from "./viewer.js";

/**
 * Show a live match in an element.
 * @param {HTMLElement} root
 * @param {string} id
 * @param {{botAddress: (bot: string) => string, rulesOf: (start: object) => string, stored: () => Promise<object | null>}} page
 *   `stored` fetches the stored match, or null
 */
export function follow(root, id, { botAddress, rulesOf, stored }) {
  const socket = openSocket();
  const course = document.getElementById("course");
  let match = null;

  async function begin(start) {
    if (match) {
      match.begin();
      return;
    }
    match = new LiveDocument(start);
    const title = poolTitle(start.game, start.preset);
    say(document.getElementById("game"), title);
    document.title = `${start.seats.map(({ bot }) => bot).join(" – ")}, ${title} · Bot Arena`;
    course.replaceChildren(el("span", { class: "badge live" }, "LIVE"), start.rated ? " rated" : " unrated");
    await hasBoardOfRecord(start); // the match grows meanwhile
    new Viewer(root, match, { botAddress, rules: rulesOf(start) });
  }

  async function finish(end) {
    await match.finish(end);
    say(course, `over, ${match.header.rated ? "rated" : "unrated"}: `);
    course.append(el("a", { href: location.pathname }, "ratings and downloads"));
    const record = await stored();
    if (record) match.become(record);
  }

  async function gone() {
    const record = await stored();
    if (record) {
      location.reload();
      return;
    }
    say(document.getElementById("game"), "No such match");
    document.title = "No such match · Bot Arena";
    say(course, "");
    const told = `There is no match ${id}, neither live nor stored. `;
    root.replaceChildren(el("p", { class: "empty", role: "alert" }, told, el("a", { href: "/matches" }, "All matches")));
  }

  const ours = (then) => (message) => message.match === id && then(message);
  socket.on("start", ours(begin));
  socket.on("turn", ours((turn) => match?.turn(turn)));
  socket.on("end", ours((end) => match && finish(end)));
  socket.on("gone", ours(gone));
  socket.on("state", ({ name }) => name === "waiting" && match?.cut());
  showConnection(socket);
  socket.watch(id);
  socket.start();
}
