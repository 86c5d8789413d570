/** A table of this page fetched again, when there is news: not often, not all pages at once, never in a hidden tab. */

const SHORTEST = 2000; // ms between two fetches, and as much again by chance
const BREATH = 10; // times as long as the last fetch took: a slow server is asked less
const LONGEST = 60000; // ms, of that rest
const PATIENCE = 30000; // ms for one fetch

/**
 * Keeps parts of the page as the server would show them now.
 * @param {string[]} ids  of the elements to renew; of a table, the rows that did not change stay the same elements
 * @param {(fresh: Document) => void} [prepare]  changes what was fetched as the page has changed itself
 * @returns {() => void} asks for a refresh, soon
 */
export function refresher(ids, prepare = () => {}) {
  let wanted = false;
  let waiting = false; // for the next fetch, or for its answer
  let rest = SHORTEST;

  async function renew() {
    if (document.hidden) {
      waiting = false;
      return;
    }
    wanted = false;
    const began = performance.now();
    try {
      // the start page may begin to mean another pool: this one goes on with what it shows
      const address = document.getElementById(ids[0])?.dataset.address ?? location.pathname;
      const fresh = await fetched(address + location.search);
      prepare(fresh);
      if (ids.some((id) => (document.getElementById(id) === null) !== (fresh.getElementById(id) === null))) {
        location.reload(); // there is something to show at last, or nothing any more
        return;
      }
      for (const id of ids) replace(document.getElementById(id), fresh.getElementById(id));
      said();
    } catch {
      // the server does not answer: the next news tries again
    }
    rest = Math.min(LONGEST, Math.max(SHORTEST, BREATH * (performance.now() - began)));
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

/** A page as a document; its scripts don't run. */
function fetched(address) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", address);
    request.onload = () => (request.status === 200 && request.response ? resolve(request.response) : reject(request));
    request.onerror = request.ontimeout = reject;
    request.timeout = PATIENCE;
    request.send();
  });
}

/** Put the new in place of the old, row by row in a table, and leave the focus where it is. */
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
