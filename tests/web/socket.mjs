// A page's connection in an arena that is scripted: one [what, …] a line on standard input; after each, on standard
// output, what the page did: ["connects", url], ["sends", url, message], ["waits", ms], ["tells", type, message].
// `node socket.mjs MODULE URL` takes the class from there. No time passes but by "pass", until the next attempt.
import { createInterface } from "node:readline";

const did = [];
let now = 1_000_000;
let timers = [];
const sockets = new Map(); // the newest, by URL

globalThis.WebSocket = class {
  static CONNECTING = 0;
  readyState = 0;
  constructor(url) {
    this.url = url;
    sockets.set(url, this);
    did.push(["connects", url]);
  }
  send(text) {
    did.push(["sends", this.url, JSON.parse(text)]);
  }
  close() {}
};
globalThis.window = { addEventListener: () => {}, removeEventListener: () => {} };
globalThis.document = { addEventListener: () => {}, removeEventListener: () => {} };
globalThis.setInterval = () => 0;
globalThis.clearInterval = () => {};
globalThis.setTimeout = (then, ms) => {
  did.push(["waits", ms]);
  timers.push({ then, at: now + ms });
  return timers.at(-1);
};
globalThis.clearTimeout = (timer) => (timers = timers.filter((one) => one !== timer));
Date.now = () => now;
Math.random = () => 1;

const { ArenaSocket } = await import(process.argv[2]);
const page = new ArenaSocket(process.argv[3]);
for (const type of ["start", "end", "gone", "state"]) page.on(type, (message) => did.push(["tells", type, message]));

const ways = {
  start: (hello) => page.start(hello),
  watch: (match) => page.watch(match),
  list: () => page.send({ type: "list" }),
  opens: (url) => sockets.get(url).onopen(),
  says: (url, message) => sockets.get(url).onmessage({ data: JSON.stringify(message) }),
  ends: (url) => sockets.get(url).onclose({ code: 1006 }),
  pass: () => {
    const [next] = timers.sort((one, other) => one.at - other.at);
    timers = timers.filter((one) => one !== next);
    now = next.at;
    next.then();
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const [what, ...given] = JSON.parse(line);
  ways[what](...given);
  console.log(JSON.stringify(did.splice(0)));
}
