// Simulates a page with its sockets, timers, time and luck: `simulate` takes steps, and returns what the page did after each.

/** Sockets that a test opens, feeds and ends, timers that it has pass, and what the page did with them. */
class Surroundings {
  did = [];
  now = 1_000_000;
  timers = [];
  sockets = new Map(); // the newest, by URL

  /** What stands for the globals of a browser. */
  globals() {
    const { did, sockets } = this;
    const listening = { addEventListener: () => {}, removeEventListener: () => {} };
    return {
      WebSocket: class {
        static CONNECTING = 0;
        static OPEN = 1;
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
      },
      window: listening,
      document: listening,
      setInterval: () => 0,
      clearInterval: () => {},
      setTimeout: (then, ms) => {
        did.push(["waits", ms]);
        this.timers.push({ then, at: this.now + ms });
        return this.timers.at(-1);
      },
      clearTimeout: (timer) => (this.timers = this.timers.filter((one) => one !== timer)),
      Date: { now: () => this.now },
      Math: Object.assign(Object.create(Math), { random: () => 1 }),
    };
  }

  pass() {
    const [next] = this.timers.sort((one, other) => one.at - other.at);
    this.timers = this.timers.filter((one) => one !== next);
    this.now = next.at;
    next.then();
  }
}

export function simulate({ ArenaSocket }, home, steps) {
  const here = new Surroundings();
  const globals = here.globals();
  const own = Object.fromEntries(Object.keys(globals).map((name) => [name, globalThis[name]]));
  Object.assign(globalThis, globals);
  try {
    const page = new ArenaSocket(home);
    for (const type of ["start", "end", "gone", "state"]) page.on(type, (message) => here.did.push(["tells", type, message]));
    const ways = {
      start: (hello) => page.start(hello),
      watch: (match) => page.watch(match),
      opens: (url) => {
        here.sockets.get(url).readyState = WebSocket.OPEN;
        here.sockets.get(url).onopen();
      },
      closes: (url) => (here.sockets.get(url).readyState = 2), // the arena's close frame has come, its event not yet
      says: (url, message) => here.sockets.get(url).onmessage({ data: JSON.stringify(message) }),
      ends: (url) => here.sockets.get(url).onclose({ code: 1006 }),
      pass: () => here.pass(),
    };
    return steps.map(([what, ...given]) => {
      ways[what](...given);
      return here.did.splice(0);
    });
  } finally {
    Object.assign(globalThis, own);
  }
}
