/** Computes the chance of a battle. Pure. */

const SIDES = 6;
const [MAX_ATTACK_DICE, MAX_DEFENCE_DICE] = [3, 2];

/**
 * Return the probability that a battle to the end takes a territory.
 * @param {number} attackers units sent
 * @param {number} defenders
 * @returns {number} 0 to 1
 */
export function battleChance(attackers, defenders) {
  let [before, last, row] = [0, 1, 2].map(() => new Float64Array(defenders + 1)); // chances by number of defenders: with two attackers fewer, one fewer, and this many
  for (let units = 1; units <= attackers; units++) {
    const dice = Math.min(units, MAX_ATTACK_DICE);
    const ends = [1, 2].map((defence) => roundChances(dice, defence).map(([chance, lost, killed]) => ({ chance, killed, left: [row, last, before][lost] })));
    row[0] = 1;
    for (let against = 1; against <= defenders; against++) {
      row[against] = 0;
      for (const { chance, killed, left } of ends[Math.min(against, MAX_DEFENCE_DICE) - 1]) row[against] += chance * left[against - killed];
    }
    [before, last, row] = [last, row, before];
  }
  return last[defenders];
}

const rounds = new Map();

/**
 * Return the outcomes of one round: highest die against highest, and the defender wins ties.
 * @param {number} attack dice
 * @param {number} defence dice
 * @returns {[chance: number, lost: number, killed: number][]} lost attackers, killed defenders
 */
function roundChances(attack, defence) {
  const key = `${attack} ${defence}`;
  if (!rounds.has(key)) {
    const most = Math.min(attack, defence);
    const ways = new Array(most + 1).fill(0);
    const throws = SIDES ** (attack + defence);
    for (let thrown = 0; thrown < throws; thrown++) {
      const faces = Array.from({ length: attack + defence }, (_, die) => Math.floor(thrown / SIDES ** die) % SIDES);
      const [highest, against] = [faces.slice(0, attack), faces.slice(attack)].map((side) => side.sort((a, b) => b - a));
      ways[against.slice(0, most).filter((face, at) => highest[at] > face).length] += 1;
    }
    rounds.set(key, ways.map((count, killed) => [count / throws, most - killed, killed]));
  }
  return rounds.get(key);
}
