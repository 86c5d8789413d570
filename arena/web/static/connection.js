/** Says in the page's banner how the connection to the arena stands, once it is not as it should be. */

/**
 * @param {import("./wire.js").Wire} wire
 * @param {Element} [banner]
 */
export function showConnection(wire, banner = document.querySelector("#connection")) {
  let wasOpen = false;
  wire.on("state", ({ name, reason }) => {
    if (name === "open") {
      wasOpen = true;
      banner.hidden = true;
    } else if (name === "waiting" || name === "stopped") {
      const what = reason ?? (wasOpen ? "the connection to the arena is lost" : "no arena answers");
      const then = name === "waiting" ? "What is shown may be old. Trying again." : "Reload the page to connect again.";
      banner.textContent = `${what[0].toUpperCase()}${what.slice(1)}. ${then}`;
      banner.hidden = false;
    }
  });
}
