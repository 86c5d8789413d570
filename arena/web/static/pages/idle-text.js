/** The text of the wall while it has no boards. Pure. */

import { counted, listed } from "../format.js";
import { poolTitle } from "../titles.js";

const MAX_NAMED_BOTS = 8; // maximum bots named, for a projector

/**
 * @param {{bots: any[], matches: any[], more_bots?: number, more_matches?: number} | null} listing null if the arena does not answer
 * @returns {{title: string, told: string}}
 */
export function idleText(listing) {
  if (listing === null) return { title: "The arena does not answer", told: "Live matches cannot be shown." };
  const { bots, matches, more_bots: moreBots = 0, more_matches: moreMatches = 0 } = listing;
  if (matches.length > 0) {
    const count = matches.length + moreMatches;
    const games = listed([...new Set(matches.map(({ game, preset }) => poolTitle(game, preset)))]);
    return {
      title: `${counted(count, "live match", "live matches")} without a board`,
      told: `This page has no board for ${games}.`,
    };
  }
  const count = bots.length + moreBots;
  if (count === 0) return { title: "No match right now", told: "No bot and no person is online." };
  const names = bots.slice(0, MAX_NAMED_BOTS).map(({ bot }) => bot);
  const left = count - names.length;
  const here = `${listed([...names, ...(left > 0 ? [`${left} more`] : [])])} ${count === 1 ? "is" : "are"} online`;
  const paces = bots.map(({ pace_s: pace = 0 }) => pace);
  const isHeld = paces.every((pace) => pace > 0);
  const why = isHeld
    ? `. They have reached their hourly limit of matches: the next one starts in ${duration(Math.min(...paces))}.`
    : ` and ${count === 1 ? "waits" : "wait"} for the next match.`;
  return { title: "No match right now", told: here + why };
}

function duration(seconds) {
  return seconds < 90 ? counted(Math.ceil(seconds), "second") : counted(Math.ceil(seconds / 60), "minute");
}
