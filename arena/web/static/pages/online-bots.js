/** Follows who is online, and notices gaps in the messages. */

const LIST_INTERVAL_MS = 5000; // ms between two requests; the arena answers all pages with the same listing

/**
 * Request the listing on every welcome and regularly.
 * @param {import("../arena-socket.js").ArenaSocket} socket
 * @param {(listing: {bots: any[], matches: any[]}) => void} told
 * @param {() => void} lost called when the arena stops answering, so the last listing may be outdated
 */
export function follow(socket, told, lost) {
  const ask = () => {
    if (!document.hidden) socket.send({ type: "list" });
  };
  socket.on("welcome", ask);
  socket.on("listing", told);
  socket.on("state", ({ name }) => (name === "waiting" || name === "stopped") && lost());
  setInterval(ask, LIST_INTERVAL_MS * (1 + Math.random()));
  document.addEventListener("visibilitychange", ask);
}

/**
 * Call `then` after each reconnection, because messages in between were missed.
 * @param {import("../arena-socket.js").ArenaSocket} socket
 * @param {() => void} then
 */
export function onReturn(socket, then) {
  let attempts = 0;
  socket.on("state", ({ name }) => {
    if (name === "connecting") attempts += 1;
    else if (name === "open" && attempts > 1) then();
  });
}

/**
 * Describe what an online bot does.
 * @param {{playing?: number, seeks?: any[]}} bot
 * @returns {string}
 */
export function doing(bot) {
  if (bot.playing > 0) return bot.playing === 1 ? "playing" : `playing ${bot.playing}`;
  return "here";
}
