// What a game's rules are made of. The script of the rules imports nothing of the arena. Its default export is a function
// (kit, game) that returns a function (config) -> Rules; rules.js describes `Rules`.

import { Dice } from "./dice.js";
import { fromHex, hmac } from "./hash.js";
import { demand, demandFields, isPlace, ranksOf, replaced, wonBy } from "./moves.js";

export const kit = Object.freeze({
  /** The dice of an event, see dice.js; for deals that have a key of their own. */
  Dice,
  fromHex,
  hmac,
  /** Refusals of moves, and ranks of two seats, see moves.js. */
  demand,
  demandFields,
  isPlace,
  ranksOf,
  replaced,
  wonBy,
});
