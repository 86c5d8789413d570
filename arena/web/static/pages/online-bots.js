/** Who is here now, as the arena tells it, and when that may have been missed. */

const OFTEN = 5000; // ms between two questions; the arena answers all pages with the same listing

/**
 * Ask the arena who is here, on every welcome and from time to time.
 * @param {import("../arena-socket.js").ArenaSocket} socket
 * @param {(listing: {bots: any[], matches: any[]}) => void} told
 * @param {() => void} lost  what was told may not be so any more: the arena does not answer
 */
export function follow(socket, told, lost) {
  const ask = () => {
    if (!document.hidden) socket.send({ type: "list" });
  };
  socket.on("welcome", ask);
  socket.on("listing", told);
  socket.on("state", ({ name }) => (name === "waiting" || name === "stopped") && lost());
  setInterval(ask, OFTEN * (1 + Math.random()));
  document.addEventListener("visibilitychange", ask);
}

/**
 * Call when the connection is there, but for the first attempt: what happened before was not told.
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
 * What a bot that is here does, in a word or two.
 * @param {{playing?: number, seeks?: any[]}} bot
 * @returns {string}
 */
export function doing(bot) {
  if (bot.playing > 0) return bot.playing === 1 ? "playing" : `playing ${bot.playing}`;
  return "here";
}
