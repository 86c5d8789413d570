// A battle of the campaign, fought to the end: with dice, or without.

const ATTACKING = 3;
const DEFENDING = 2;

/** The rounds of a battle whose dice its event tells, at most. */
export const MOST_ROUNDS = 500;

/**
 * @param {import("../dice.js").Dice} dice
 * @returns {Promise<{attackers: number, defenders: number, dice: number[][]}>} what is left of both, one of them 0, and
 *   the dice of the first 500 rounds, the attacker's and the defender's in turn
 */
export async function fight(dice, attackers, defenders) {
  const rolls = [];
  while (attackers && defenders) {
    const attack = await dice.throw("attack", Math.min(attackers, ATTACKING));
    const defence = await dice.throw("attack", Math.min(defenders, DEFENDING));
    if (rolls.length < 2 * MOST_ROUNDS) rolls.push(attack, defence);
    const [highest, against] = [attack, defence].map((faces) => [...faces].sort((a, b) => b - a));
    for (let i = 0; i < Math.min(attack.length, defence.length); i++) {
      if (highest[i] > against[i]) defenders -= 1;
      else attackers -= 1;
    }
  }
  return { attackers, defenders, dice: rolls };
}

/** What is left without dice: more attackers win and keep the difference; else all fall, and a defender stays. */
export function settle(attackers, defenders) {
  if (attackers > defenders) return { attackers: attackers - defenders, defenders: 0 };
  return { attackers: 0, defenders: Math.max(1, defenders - attackers) };
}
