/** Refetches parts of the page on news: not too often, spread over time, and never in a hidden tab. */

const MIN_FETCH_INTERVAL_MS = 2000; // minimum ms between two fetches, plus as much again at random
const PAUSE_FACTOR = 10; // pause between fetches as a multiple of the last one's duration, to relieve a slow server
const MAX_PAUSE_MS = 60000; // maximum ms of that pause
const FETCH_TIMEOUT_MS = 30000; // timeout of a fetch in ms

/**
 * Create a function that keeps parts of the page up to date.
 * @param {string[]} ids the elements to update; unchanged rows of tables keep their elements
 * @param {(fresh: Document) => void} [prepare] applies this page's own changes to the fetched one
 * @returns {() => void} requests an update soon
 */
export function refresher(ids, prepare = () => {}) {
  let wanted = false;
  let waiting = false; // for the next fetch or its answer
  let rest = MIN_FETCH_INTERVAL_MS;

  async function renew() {
    if (document.hidden) {
      waiting = false;
      return;
    }
    wanted = false;
    const began = performance.now();
    try {
      // a start page may switch to another pool; this one stays with the pool shown
      const address = document.getElementById(ids[0])?.dataset.address ?? location.pathname;
      const fresh = await fetched(address + location.search);
      prepare(fresh);
      if (ids.some((id) => (document.getElementById(id) === null) !== (fresh.getElementById(id) === null))) {
        location.reload(); // a part has appeared or disappeared
        return;
      }
      for (const id of ids) replace(document.getElementById(id), fresh.getElementById(id));
      said();
    } catch {
      // the server does not answer: the next news tries again
    }
    rest = Math.min(MAX_PAUSE_MS, Math.max(MIN_FETCH_INTERVAL_MS, PAUSE_FACTOR * (performance.now() - began)));
    waiting = false;
    schedule();
  }

  function schedule() {
    if (!wanted || waiting || document.hidden) return;
    waiting = true;
    setTimeout(renew, rest * (1 + Math.random()));
  }

  document.addEventListener("visibilitychange", schedule);
  return () => {
    wanted = true;
    schedule();
  };
}

/** Fetch a page as a document; its scripts don't run. */
function fetched(address) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", address);
    request.onload = () => (request.status === 200 && request.response ? resolve(request.response) : reject(request));
    request.onerror = request.ontimeout = reject;
    request.timeout = FETCH_TIMEOUT_MS;
    request.send();
  });
}

/** Replace an element by its new version, row by row in tables, keeping the focus. */
function replace(old, fresh) {
  if (old === null || fresh === null) return;
  const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  if (old.tHead !== undefined && fresh.tBodies.length === 1 && old.tBodies.length === 1) {
    exchange(old.tHead, fresh.tHead);
    const kept = new Map([...old.tBodies[0].rows].map((row) => [row.outerHTML, row]));
    const rows = [...fresh.tBodies[0].rows].map((row) => kept.get(row.outerHTML) ?? document.importNode(row, true));
    old.tBodies[0].replaceChildren(...rows);
  } else {
    exchange(old, fresh);
  }
  if (focused === null || document.activeElement?.getAttribute("href") === focused) return;
  const place = document.getElementById(old.id) ?? document;
  [...place.querySelectorAll("a[href]")].find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
}

function exchange(old, fresh) {
  if (!old.isEqualNode(fresh)) old.replaceWith(document.importNode(fresh, true));
}

function said() {
  const place = document.getElementById("updated");
  if (place !== null) place.textContent = `Updated at ${new Date().toLocaleTimeString()}`;
}
