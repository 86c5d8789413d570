/** Says in the page's banner how the connection to the arena stands, once it is not as it should be. */

import { sentence } from "./format.js";

/** @param {import("./arena-socket.js").Wire} wire */
export function showConnection(wire) {
  const banner = document.querySelector("#connection");
  wire.on("state", ({ name, reason }) => {
    if (name === "open") {
      banner.hidden = true;
    } else if (name === "waiting" || name === "stopped") {
      const then = name === "waiting" ? "What is shown may be old. Trying again." : "Reload the page to connect again.";
      banner.textContent = `${sentence(reason)} ${then}`;
      banner.hidden = false;
    }
  });
}
