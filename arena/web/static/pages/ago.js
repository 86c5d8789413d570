/** Shows in `<time data-ago>` how long ago something was; title and `datetime` have the exact time. */

// No imports: the first paint waits for this module, so that no text changes while it is read.

const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "always" });
const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
const MAX_AGE_MS = 30 * 86_400_000; // ms; older times are shown as a date
const UPDATE_INTERVAL_MS = 20_000; // ms

/**
 * Format how long ago a time was, like "3 minutes ago"; old ones as a date.
 * @param {string} moment in ISO 8601
 * @param {number} [now] ms since 1970
 */
export function agoInWords(moment, now = Date.now()) {
  const past = now - Date.parse(moment);
  if (past > MAX_AGE_MS) return moment.slice(0, 10);
  for (const [unit, ms] of UNITS) if (past >= ms) return WORDS.format(-Math.floor(past / ms), unit);
  return "just now";
}

/**
 * Update all times in a page, which may be a fetched one.
 * @param {ParentNode} page
 */
export function tellAgo(page) {
  for (const time of page.querySelectorAll("time[data-ago]")) {
    const words = agoInWords(time.dateTime);
    if (time.textContent !== words) time.textContent = words;
  }
}

tellAgo(document);
setInterval(() => tellAgo(document), UPDATE_INTERVAL_MS);
