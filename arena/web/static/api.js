/** What the arena's JSON API says. */

/**
 * An answer of the API.
 * @param {string} address
 * @returns {Promise<any>}
 * @throws {Error} what the API says is wrong
 */
export async function ask(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } }).catch(() => null);
  const body = await answer?.json().catch(() => null); // something between us and the API may answer in its own words
  if (!body || !answer.ok) throw new Error(body?.error?.message ?? `the page got no answer from ${address}`);
  return body;
}

/**
 * Where the API has a match.
 * @param {string} id
 */
export function matchAddress(id) {
  return `/api/v1/matches/${encodeURIComponent(id)}`;
}

/**
 * Where the API has the grades of a match.
 * @param {string} id
 * @param {string} graded how its moves are: "exact", then those of all seats, or "estimated"
 * @param {number} seat whose moves are estimated
 */
export function gradesAddress(id, graded, seat) {
  return `${matchAddress(id)}/grades${graded === "exact" ? "" : `?estimated=true&seat=${seat}`}`;
}
