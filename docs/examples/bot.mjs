// A complete bot in JavaScript: connects, seeks matches, plays a random legal move, comes back when the connection
// breaks. Node 22 and later have WebSocket built in; before that, `npm install ws`.
//
//   ARENA_URL=ws://127.0.0.1:8765 ARENA_BOT=nodette ARENA_GAME=nim node bot.mjs
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";

const WebSocket = globalThis.WebSocket ?? (await import("ws")).WebSocket;

const url = process.env.ARENA_URL ?? "ws://127.0.0.1:8765";
const bot = process.env.ARENA_BOT ?? "nodette";
const game = process.env.ARENA_GAME ?? "nim";
let matchesLeft = Number(process.env.ARENA_MATCHES ?? Infinity);
const token = process.env.ARENA_TOKEN ?? savedToken(`.arena-token-${bot}`);
const hopeless = [4000, 4001, 4002, 4003, 4004];

let socket;
let wait = 100;
let seats = new Map(); // match -> my seat

function savedToken(file) {
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString("base64url"), { mode: 0o600 });
  chmodSync(file, 0o600);
  return readFileSync(file, "utf8").trim();
}

function send(message) {
  socket.send(JSON.stringify(message));
}

function seek() {
  send({ type: "seek", id: "next", game });
}

function choose(turn) {
  return turn.legal[Math.floor(Math.random() * turn.legal.length)];
}

const on = {
  welcome(message) {
    wait = 100;
    seats = new Map();
    if (message.resumed.length === 0) seek();
  },
  start({ match, seat }) {
    seats.set(match, seat);
    send({ type: "ready", match, nonce: randomBytes(16).toString("hex") });
  },
  turn(turn) {
    send({ type: "move", match: turn.match, ply: turn.ply, move: choose(turn) });
  },
  rejected({ match, ply, message }) {
    console.error(`${bot}: move rejected at ply ${ply} of ${match}: ${message}`);
    send({ type: "resign", match });
  },
  end({ match, ranks, reason }) {
    console.log(`${bot}: ${ranks[seats.get(match)] === 1 ? "won" : "did not win"} ${match} (${reason})`);
    seats.delete(match);
    matchesLeft -= 1;
    if (matchesLeft > 0) seek();
    else socket.close(1000);
  },
  error({ code, message }) {
    console.error(`${bot}: ${message} (${code})`);
    if (["unknown_game", "bad_config"].includes(code)) process.exit(1);
  },
};

function connect() {
  socket = new WebSocket(url, ["arena.v1.json"]);
  socket.onopen = () => send({ type: "hello", bot, token, client: "bot.mjs" });
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    on[message.type]?.(message); // types of a later version are ignored
  };
  socket.onerror = () => {}; // `close` follows and decides
  socket.onclose = ({ code, reason }) => {
    if (matchesLeft <= 0) return;
    if (hopeless.includes(code)) {
      console.error(`${bot}: the arena closed the connection: ${code} ${reason}`);
      process.exit(1);
    }
    console.error(`${bot}: no connection to ${url} (${code}); trying again`);
    setTimeout(connect, wait * (0.5 + Math.random() / 2));
    wait = Math.min(2 * wait, 5000);
  };
}

connect();
