/** A match under way, over the wire: its document grows with every turn. At its end the stored one takes its place. */

import { showConnection } from "../connection-banner.js";
import { el, say } from "../dom.js";
import { openSocket } from "../arena-socket.js";
import { listed, reasonInWords } from "../format.js";
import { LiveDocument } from "./live.js";
import { Viewer } from "./viewer.js";

/**
 * Follow a match into an element.
 * @param {HTMLElement} root
 * @param {string} id
 * @param {{botAddress: (bot: string) => string, stored: () => Promise<object | null>}} page `stored` asks for the stored match, or null
 */
export function follow(root, id, { botAddress, stored }) {
  const socket = openSocket();
  const course = document.getElementById("course");
  let match = null;

  function begin(start) {
    if (match) {
      match.begin();
      return;
    }
    match = new LiveDocument(start);
    const names = start.seats.map(({ bot }) => bot).join(" – ");
    say(document.getElementById("players"), names);
    document.title = `${names}, ${start.game} · Bot Arena`;
    say(course, `${start.game}, ${start.rated ? "rated" : "unrated"}: live.`);
    new Viewer(root, match, { botAddress });
  }

  async function finish(end) {
    await match.finish(end);
    say(course, `${match.header.game}, ${match.header.rated ? "rated" : "unrated"}: ${ending(match)}.`);
    course.append(" ", el("a", { href: location.pathname }, "Ratings and downloads"));
    const record = await stored();
    if (record) match.become(record);
  }

  async function gone() {
    const record = await stored();
    if (record) location.reload();
    else say(course, `No match ${id} is under way, and none of that name is stored.`);
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

function ending({ header, footer }) {
  if (footer.reason === "void") return "void, called off by the arena";
  const first = header.seats.filter((_, seat) => footer.ranks[seat] === 1).map(({ bot }) => bot);
  if (footer.reason === "draw") return "a draw";
  const ended = `${listed(first)} ${first.length === 1 ? "won" : "tied"}`;
  return footer.reason === "win" ? ended : `${ended}, ${reasonInWords(footer.reason)}`;
}
