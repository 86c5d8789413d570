/** Says in the page's banner how the connection to the arena stands, once it is not as it should be. */

import { sentence } from "./format.js";

/** @param {import("./arena-socket.js").ArenaSocket} socket */
export function showConnection(socket) {
  const banner = document.querySelector("#connection");
  socket.on("state", ({ name, reason }) => {
    if (name === "open") {
      banner.hidden = true;
    } else if (name === "waiting" || name === "stopped") {
      const then = name === "waiting" ? "What is shown may be old. Trying again." : "Reload the page to connect again.";
      banner.textContent = `${sentence(reason)} ${then}`;
      banner.hidden = false;
    }
  });
}
