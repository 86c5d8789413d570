/** Requests to the arena's JSON API. */

/**
 * Return the decoded answer of the API.
 * @param {string} address
 * @returns {Promise<any>}
 * @throws {Error} with the API's message
 */
export async function fetchJson(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } }).catch(() => null);
  const body = await answer?.json().catch(() => null); // a proxy in between may answer something else than JSON
  if (!body || !answer.ok) throw new Error(body?.error?.message ?? `there was no answer from ${address}`);
  return body;
}

/**
 * Return the API's address of a match.
 * @param {string} id
 */
export function matchAddress(id) {
  return `/api/v1/matches/${encodeURIComponent(id)}`;
}

/**
 * Return the API's address of a match's grades.
 * @param {string} id
 * @param {string} graded "exact" (grades of all seats) or "estimated"
 * @param {number} seat the seat whose moves are estimated
 */
export function gradesAddress(id, graded, seat) {
  return `${matchAddress(id)}/grades${graded === "exact" ? "" : `?estimated=true&seat=${seat}`}`;
}

/**
 * Return the API's address of the drawing of a state.
 * @param {string} game
 * @param {object} config
 * @param {object} state
 * @param {object[]} moves the moves to name
 */
export function drawingAddress(game, config, state, moves) {
  const query = new URLSearchParams({ config: JSON.stringify(config), state: JSON.stringify(state), moves: JSON.stringify(moves) });
  return `/api/v1/games/${encodeURIComponent(game)}/drawing?${query}`;
}
