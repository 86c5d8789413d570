/** Shows the state of the connection in the page's banner, unless all is well. */

import { sentence } from "./format.js";

/** @param {import("./arena-socket.js").ArenaSocket} socket */
export function showConnection(socket) {
  const banner = document.querySelector("#connection");
  socket.on("state", ({ name, reason }) => {
    if (name === "open") {
      banner.hidden = true;
    } else if (name === "waiting" || name === "stopped") {
      const then = name === "waiting" ? "This page may be out of date. Reconnecting …" : "Reload the page to connect again.";
      banner.textContent = `${sentence(reason)} ${then}`;
      banner.hidden = false;
    }
  });
}
