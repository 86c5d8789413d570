/**
 * The page's connection to the arena: the wire protocol in JSON, with automatic reconnection.
 * Handlers are registered by message type. Watched matches are watched again after every new `welcome`.
 * In an arena of several nodes, a player connects to the node of its game, and a spectator to all nodes.
 */

/** The client name that the page sends in `hello`. */
export const CLIENT = "bot-arena/browser";

const SUBPROTOCOL = "arena.v1.json";
const MIN_RETRY_DELAY_MS = 500; // ms before the first retry; the delay doubles up to the maximum
const MAX_RETRY_DELAY_MS = 5000;
const FLOOD_RETRY_DELAY_MS = 30000; // minimum ms after close code 4004 (too much from this address); up to twice that at random
const SILENCE_BEFORE_PROBE_MS = 20000; // ms without a message before the arena is probed
const PROBE_TIMEOUT_MS = 10000; // ms to answer the probe
const WELCOME_TIMEOUT_MS = 60000; // ms; an arena that has just started answers only when its matches are restored
const CHECK_INTERVAL_MS = 5000;
const PROBE_ID = "alive";
const MIN_MOVE_INTERVAL_MS = 2000; // ms: for a moment, nodes may disagree about which of them is the right one
const MAX_FAILED_MOVES = 4; // attempts, for about five seconds, to reach the node with one's match before going on without it
const EVERY_MATCH = "*";
const HOME_KEY = ""; // stands for this node in place of a URL

const FINAL_CLOSE_CODES = new Map([
  [1009, "this page sent a message that is too large"],
  [4000, "this page sent too many invalid messages"],
  [4001, "the arena did not accept this name"],
  [4003, "you are playing in another tab or window, which replaced this one"],
]);

/**
 * @typedef {object} WireState
 * @property {"idle" | "connecting" | "open" | "waiting" | "stopped"} name `open` after `welcome`; `stopped` is final
 * @property {string} [reason] why it is waiting or stopped, as a sentence for people
 * @property {string} [code] the code of the fatal `error`, if there was one
 * @property {number} [closed] the close code
 */

/**
 * Return the arena's address: `<html data-socket>` is empty, or has a port or a complete URL.
 * @returns {string | null} null if there is no live arena
 */
export function arenaAddress() {
  const said = document.documentElement.dataset.socket;
  if (said === "") return null;
  if (!/^\d+$/.test(said)) return said;
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.hostname}:${said}`;
}

/** A connection to an arena, which reconnects until it is stopped. */
export class ArenaSocket {
  /** @type {WireState} */
  state = { name: "idle" };
  /** The last `welcome`; null unless the connection is open. */
  welcome = null;
  #home;
  #address;
  #hello = {};
  #socket = null;
  #handlers = new Map();
  #watched = new Set();
  /** Connections to other nodes by URL, the node of each match, and the last `listing` of each node. */
  #otherNodes = new Map();
  #nodeOf = new Map();
  #listings = new Map();
  /** True if another connection owns this one, to spectate on another node. */
  #isSecondary = false;
  /** The matches in which this connection has a seat; the time of its last move to another node, and the failed moves. */
  #seatedMatches = new Set();
  #movedAt = 0;
  #failedMoves = 0;
  #wait = MIN_RETRY_DELAY_MS;
  #timer = 0;
  #looking = 0;
  #heardAt = 0;
  #probedAt = 0;
  #fatal = null;

  /** @param {string} address `ws://…` or `wss://…` */
  constructor(address) {
    this.#home = this.#address = address;
  }

  /**
   * Connect, as a spectator or with `bot` and `token`. An open connection is replaced.
   * @param {{bot?: string, token?: string, follow?: boolean, person?: boolean}} [hello]
   */
  start(hello = {}) {
    this.#hello = { client: CLIENT, ...hello };
    this.#wait = MIN_RETRY_DELAY_MS;
    if (hello.bot !== undefined) this.#setOtherNodes([]);
    this.#leave();
    window.addEventListener("online", this.#retryNow);
    document.addEventListener("visibilitychange", this.#retryNow);
    window.addEventListener("pagehide", this.#handlePageHide);
    window.addEventListener("pageshow", this.#handlePageShow);
    this.#connect();
  }

  /** Close the connection and don't reconnect. Watched matches are remembered for the next `start`. */
  stop() {
    window.removeEventListener("online", this.#retryNow);
    document.removeEventListener("visibilitychange", this.#retryNow);
    window.removeEventListener("pagehide", this.#handlePageHide);
    window.removeEventListener("pageshow", this.#handlePageShow);
    this.#setOtherNodes([]);
    this.#leave();
    this.#tellState({ name: "idle" });
  }

  /**
   * Register a handler for a message type: any `type` of the protocol, `state` (a WireState), or `gone` with `{match}`,
   * after which a watched match is not under way, or no longer.
   * @param {string} type
   * @param {(message: any) => void} handler
   */
  on(type, handler) {
    if (!this.#handlers.has(type)) this.#handlers.set(type, []);
    this.#handlers.get(type).push(handler);
  }

  /**
   * Send a message, if the connection is open. It is not while the arena closes it: browsers log an error then.
   * @param {{type: string}} message
   * @returns {boolean} true if it was sent
   */
  send(message) {
    if (this.state.name !== "open" || this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    if (message.type === "list") for (const other of this.#otherNodes.values()) other.send(message);
    return true;
  }

  /** Follow a match, or with "*" all starts and ends, now and after every reconnect. */
  watch(match) {
    const other = this.#nodeOf.get(match);
    if (other !== undefined) {
      other.watch(match);
      return;
    }
    this.#watched.add(match);
    this.send({ type: "watch", match });
    if (match === EVERY_MATCH) for (const node of this.#otherNodes.values()) node.watch(match);
  }

  /** Stop following a match. */
  unwatch(match) {
    this.#nodeOf.get(match)?.unwatch(match);
    this.#watched.delete(match);
    this.send({ type: "unwatch", match });
    if (match === EVERY_MATCH) for (const node of this.#otherNodes.values()) node.unwatch(match);
  }

  /** Keep connections to exactly these other nodes. */
  #setOtherNodes(urls) {
    for (const [url, other] of this.#otherNodes)
      if (!urls.includes(url)) {
        other.stop();
        this.#otherNodes.delete(url);
        this.#listings.delete(url);
        for (const [match, node] of this.#nodeOf) if (node === other) this.#nodeOf.delete(match);
        this.#watchAgain(other);
      }
    for (const url of urls) if (!this.#otherNodes.has(url)) this.#join(url);
  }

  /** Ask the home node to watch the matches of another node that is away: they may have moved. */
  #watchAgain(other) {
    for (const match of [...other.#watched].filter((one) => one !== EVERY_MATCH)) {
      other.#watched.delete(match);
      this.#watched.add(match);
      this.send({ type: "watch", match });
    }
  }

  /** Connect to another node and forward its messages as if they came from here. */
  #join(url) {
    const other = new ArenaSocket(url);
    other.#isSecondary = true;
    this.#otherNodes.set(url, other);
    const here = ({ match }) => this.#nodeOf.set(match, other);
    const over = ({ match }) => this.#nodeOf.delete(match);
    other.on("start", (start) => {
      here(start);
      this.#tell("start", start);
    });
    other.on("turn", (turn) => this.#tell("turn", turn));
    for (const type of ["end", "gone"])
      other.on(type, (message) => {
        over(message);
        this.#tell(type, message);
      });
    other.on("listing", (listing) => {
      listing.matches.forEach(here);
      this.#list(url, listing);
    });
    other.on("welcome", () => other.send({ type: "list" }));
    other.on("state", ({ name }) => name === "waiting" && this.#watchAgain(other));
    if (this.#watched.has(EVERY_MATCH)) other.watch(EVERY_MATCH);
    other.start();
    return other;
  }

  /** Forward the merged listing of all nodes that have sent theirs. */
  #list(url, listing) {
    this.#listings.set(url, listing);
    const all = [...this.#listings.values()];
    const bots = new Map(all.flatMap((one) => one.bots).map((bot) => [bot.bot, bot]));
    this.#tell("listing", { ...listing, bots: [...bots.values()], matches: all.flatMap((one) => one.matches) });
  }

  /** Continue at another node, or at home again if that one can't be reached. */
  #move(url) {
    const isSoon = Date.now() - this.#movedAt < MIN_MOVE_INTERVAL_MS;
    this.#movedAt = Date.now();
    this.#address = url;
    this.#leave();
    if (isSoon) {
      this.#timer = setTimeout(() => this.#connect(), this.#pause());
      this.#tellState({ name: "waiting", reason: "this page is switching to another server of the arena" });
    } else {
      this.#connect();
    }
  }

  /** Follow the arena's answer that another node is responsible. */
  #followRedirect({ ref, url }) {
    if (ref === undefined && this.#seatedMatches.size > 0) return; // sent elsewhere for another match: that call will be repeated when this match is over
    if (this.#hello.bot !== undefined) this.#move(url);
    else if (this.#watched.delete(ref)) (this.#otherNodes.get(url) ?? this.#join(url)).watch(ref);
  }

  #connect() {
    let socket;
    try {
      socket = new WebSocket(this.#address, [SUBPROTOCOL]);
    } catch {
      this.#tellState({ name: "stopped", reason: `${this.#address} is not the address of an arena` });
      return;
    }
    this.#socket = socket;
    this.#fatal = null;
    this.#heardAt = Date.now();
    this.#probedAt = 0;
    this.#tellState({ name: "connecting" });
    socket.onopen = () => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "hello", ...this.#hello }));
    };
    socket.onmessage = ({ data }) => this.#handleMessage(data);
    socket.onclose = ({ code }) => this.#handleClose(code);
    this.#looking = setInterval(() => this.#look(), CHECK_INTERVAL_MS);
  }

  /** Drop the connection without notifying the page. */
  #leave() {
    clearTimeout(this.#timer);
    clearInterval(this.#looking);
    this.welcome = null;
    const socket = this.#socket;
    this.#socket = null;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close(); // browsers log an error if it is closed earlier
    else socket.close();
  }

  #handleMessage(data) {
    this.#heardAt = Date.now();
    const message = JSON.parse(data);
    this.#probedAt = 0;
    if (message.type === "welcome") {
      const elsewhere = message.elsewhere ?? [];
      if (message.resumed.length === 0 && elsewhere.length > 0 && this.#failedMoves < MAX_FAILED_MOVES) {
        this.#move(elsewhere[this.#failedMoves % elsewhere.length]); // where this person's match continues
        return;
      }
      this.welcome = message;
      this.#wait = MIN_RETRY_DELAY_MS;
      this.#failedMoves = 0;
      this.#seatedMatches = new Set(message.resumed);
      this.#tellState({ name: "open" });
      for (const match of this.#watched) this.send({ type: "watch", match });
    } else if (message.type === "unseeked" && message.id === PROBE_ID) {
      return;
    } else if (message.type === "listing") {
      if (this.#hello.bot === undefined && !this.#isSecondary) this.#setOtherNodes(message.elsewhere ?? []);
      this.#list(HOME_KEY, message);
      return;
    } else if (message.type === "error") {
      if (message.code === "elsewhere") {
        this.#followRedirect(message);
        return;
      }
      if (message.fatal) this.#fatal = message;
      if (message.code === "unavailable" && this.#watched.has(message.ref)) {
        this.#watched.delete(message.ref);
        this.#nodeOf.delete(message.ref);
        this.#tell("gone", { match: message.ref });
        return;
      }
    }
    if (message.type === "start" && message.seat !== undefined) this.#seatedMatches.add(message.match);
    if (message.type === "end") this.#seatedMatches.delete(message.match);
    this.#tell(message.type, message);
    if (message.type === "end") this.#watched.delete(message.match);
  }

  #handleClose(code) {
    const open = this.state.name === "open";
    this.#leave();
    const fatal = this.#fatal;
    const refused = fatal !== null && fatal.code === "bad_message"; // the page's own mistake, which a retry would repeat
    if (FINAL_CLOSE_CODES.has(code) || refused) {
      const reason = fatal?.message ?? FINAL_CLOSE_CODES.get(code);
      this.#tellState({ name: "stopped", reason, code: fatal?.code, closed: code });
      return;
    }
    const wait = code === 4004 ? FLOOD_RETRY_DELAY_MS * (1 + Math.random()) : this.#pause();
    if (!open && this.#address !== this.#home) {
      this.#address = this.#home;
      this.#movedAt = 0;
      this.#failedMoves += 1;
    }
    this.#timer = setTimeout(() => this.#connect(), wait);
    const reason = fatal?.message ?? (open ? "the connection to the arena is lost" : "the arena does not answer");
    this.#tellState({ name: "waiting", reason, code: fatal?.code, closed: code });
  }

  /** Return the ms to wait before the next attempt; the delay doubles until `welcome`. */
  #pause() {
    const wait = this.#wait * (0.5 + Math.random() / 2);
    this.#wait = Math.min(2 * this.#wait, MAX_RETRY_DELAY_MS);
    return wait;
  }

  /** Probe a silent arena, and reconnect if it does not answer. */
  #look() {
    const now = Date.now();
    if (this.welcome === null) {
      if (now - this.#heardAt <= WELCOME_TIMEOUT_MS) return;
      this.#socket.close(); // even while it is being opened: a browser opens the next one only after it
      this.#handleClose(1006);
    } else if (this.#probedAt !== 0) {
      if (now - this.#probedAt > PROBE_TIMEOUT_MS) this.#handleClose(1006);
    } else if (now - this.#heardAt > SILENCE_BEFORE_PROBE_MS) {
      this.#probedAt = now;
      this.send({ type: "unseek", id: PROBE_ID });
    }
  }

  /** Retry at once when the network is back or the tab becomes visible. */
  #retryNow = () => {
    if (this.state.name !== "waiting" || document.hidden || this.state.closed === 4004) return;
    clearTimeout(this.#timer);
    this.#connect();
  };

  /** Close the connection when the page is left: browsers may cache a page only without an open one. */
  #handlePageHide = () => {
    if (this.state.name === "stopped") return;
    this.#leave();
    this.state = { name: "idle" };
  };

  #handlePageShow = ({ persisted }) => {
    if (persisted && this.state.name === "idle") this.#connect();
  };

  #tellState(state) {
    this.state = state;
    this.#tell("state", state);
  }

  #tell(type, message) {
    for (const handler of this.#handlers.get(type) ?? []) handler(message);
  }
}

let shared;

/**
 * Return the page's shared connection, not started yet; null if there is no live arena.
 * @returns {ArenaSocket | null}
 */
export function openSocket() {
  if (shared === undefined) {
    const address = arenaAddress();
    shared = address === null ? null : new ArenaSocket(address);
  }
  return shared;
}
