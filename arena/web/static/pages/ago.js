/** How long ago something was, in place of when: `<time data-ago>`, whose title and `datetime` have the moment. */

// Without imports: pages wait for it before they are painted, so that no words change under the eyes of a reader.

const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "always" });
const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
const LONGEST = 30 * 86_400_000; // ms: of what is older the day says more
const OFTEN = 20_000; // ms

/**
 * How long ago a moment was: "3 minutes ago"; of old ones the day.
 * @param {string} moment in ISO 8601
 * @param {number} [now] ms since 1970
 */
export function agoInWords(moment, now = Date.now()) {
  const past = now - Date.parse(moment);
  if (past > LONGEST) return moment.slice(0, 10);
  for (const [unit, ms] of UNITS) if (past >= ms) return WORDS.format(-Math.floor(past / ms), unit);
  return "just now";
}

/**
 * Say it in a page, also in one that was fetched.
 * @param {ParentNode} page
 */
export function tellAgo(page) {
  for (const time of page.querySelectorAll("time[data-ago]")) {
    const words = agoInWords(time.dateTime);
    if (time.textContent !== words) time.textContent = words;
  }
}

tellAgo(document);
setInterval(() => tellAgo(document), OFTEN);
