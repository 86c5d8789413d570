// A complete bot in JavaScript: connects, seeks matches, plays a random legal move, comes back when the connection
// breaks. Node 22 and later have WebSocket built in; before that, `npm install ws`.
//
//   ARENA_URL=ws://127.0.0.1:8765 ARENA_BOT=nodette ARENA_GAME=nim node bot.mjs
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";

const url = process.env.ARENA_URL ?? "ws://127.0.0.1:8765";
const bot = process.env.ARENA_BOT ?? "nodette";
const game = process.env.ARENA_GAME ?? "nim";
const matches = process.env.ARENA_MATCHES ?? "Infinity";
if (!URL.canParse(url) || !/^wss?:[^#]*$/.test(url)) stop(`ARENA_URL is '${url}': write it like ws://127.0.0.1:8765`, 2);
if (!/^([1-9]\d*|Infinity)$/.test(matches)) stop(`ARENA_MATCHES is '${matches}': a whole number, 1 or more`, 2);

const WebSocket = globalThis.WebSocket ?? (await import("ws").catch(withoutWebSocket)).WebSocket;

const tokenFile = `.arena-token-${bot}`;
const token = process.env.ARENA_TOKEN ?? handedToken() ?? savedToken(tokenFile);
const hopeless = [4000, 4001, 4003]; // close codes; after any other one, coming back may help
const passing = [408, 425, 429]; // of the answers in HTTP that blame the request, those after which coming back may help
const silence = 5000; // ms; a connection may be dead without anybody having closed it

let socket;
let wait = 100;
let matchesLeft = Number(matches);
let seats = new Map(); // match -> my seat
const answers = new Map(); // match -> my last move and the turn that it answers

function stop(sentence, exitCode = 1) {
  console.error(`${bot}: ${sentence}`);
  process.exit(exitCode);
}

function withoutWebSocket() {
  stop("Node 22 has a WebSocket; before that: npm install ws", 2);
}

// A tournament hands the token over on a file descriptor, standard input: other programs cannot read it there.
function handedToken() {
  if (process.env.ARENA_TOKEN_FD) return readFileSync(Number(process.env.ARENA_TOKEN_FD), "utf8").trim();
}

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

function answer(turn, move = choose(turn)) {
  answers.set(turn.match, { turn, move });
  send({ type: "move", match: turn.match, ply: turn.ply, move });
}

function result({ match, ranks, reason, seats }, seat) {
  const rank = ranks[seat];
  const why = rank === 1 ? reason : seats[seat].reason;
  const by = ["win", "draw"].includes(why) ? "" : ` (${why})`;
  return `${reason === "void" ? "had no result in" : came(rank, ranks)} ${match}${by}`;
}

function came(rank, ranks) {
  if (ranks.every((other) => other === rank)) return "drew";
  if (rank === 1) return ranks.filter((other) => other === 1).length === 1 ? "won" : "shared first place in";
  return ranks.length === 2 ? "lost" : `came ${rank}${{ 2: "nd", 3: "rd" }[rank] ?? "th"} of ${ranks.length} in`;
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
    const last = answers.get(turn.match);
    answer(turn, last?.turn.ply === turn.ply ? last.move : undefined); // told again: the same once more
  },
  rejected({ match, ply, message, strikes_left }) {
    console.error(`${bot}: move rejected at ply ${ply} of ${match}: ${message}`);
    if (strikes_left > 0) answer(answers.get(match).turn);
  },
  end(message) {
    const { match } = message;
    console.log(`${bot}: ${result(message, seats.get(match))}`);
    seats.delete(match);
    answers.delete(match);
    matchesLeft -= 1;
    if (matchesLeft > 0) seek();
    else socket.close(1000);
  },
  error({ code, message, fatal }) {
    console.error(`${bot}: ${message} (${code})`);
    if (code === "auth_failed" && !process.env.ARENA_TOKEN) {
      console.error(`${bot}: its token is in the file ${tokenFile} of the folder where it first ran; ARENA_TOKEN gives it, too`);
    }
    if (["unknown_game", "bad_config"].includes(code) || (fatal && code === "bad_message")) process.exit(1);
  },
};

function connect() {
  const opened = new WebSocket(url, ["arena.v1.json"]);
  let heard = Date.now();
  let broken;
  const watch = setInterval(() => {
    if (Date.now() - heard > 2 * silence) lost({ code: 1006 });
    else if (opened.readyState === 1) opened.send('{"type":"unseek","id":"alive"}'); // is always answered
  }, silence);
  const lost = ({ code, reason }) => {
    if (!opened.onclose) return; // it is lost already
    clearInterval(watch);
    opened.onmessage = opened.onclose = null;
    opened.close();
    if (matchesLeft > 0) comeBack(code, reason || broken);
  };
  socket = opened;
  opened.onopen = () => send({ type: "hello", bot, token, client: "bot.mjs" });
  opened.onmessage = ({ data }) => {
    heard = Date.now();
    const message = JSON.parse(data);
    on[message.type]?.(message); // types of a later version are ignored
  };
  opened.onerror = ({ message, error }) => (broken = message || error?.code); // `close` follows and decides
  opened.onclose = lost;
  opened.on?.("unexpected-response", async (_, response) => { // the package `ws` alone tells of it
    const { statusCode: status } = response;
    const [line] = (await text(response).catch(() => "")).split("\n");
    const said = line.startsWith("<") || line === "" ? "" : `: ${line.slice(0, 200)}`; // no web page
    const told = `HTTP ${status}${said}`;
    if (status >= 400 && status < 500 && !passing.includes(status)) stop(`${url} answered ${told}`);
    lost({ code: 1006, reason: told });
  });
}

function comeBack(code, reason = "") {
  if (hopeless.includes(code)) stop(`the arena closed the connection: ${code} ${reason}`);
  console.error(`${bot}: no connection to ${url} (${code}${reason && `, ${reason}`}); trying again`);
  setTimeout(connect, wait * (0.5 + Math.random() / 2));
  wait = Math.min(2 * wait, 5000);
}

connect();
