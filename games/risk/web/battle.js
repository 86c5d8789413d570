/** The battles of the campaign, with and without dice. */

const MAX_ATTACK_DICE = 3;
const MAX_DEFENCE_DICE = 2;

/** The maximum number of rounds whose dice an event contains. */
export const MAX_RECORDED_ROUNDS = 500;

/**
 * @param {{throw: (purpose: string, count: number) => Promise<number[]>}} dice
 * @returns {Promise<{attackers: number, defenders: number, dice: number[][]}>} the survivors, one of them 0, and the
 *   dice of the first 500 rounds, the attacker's and the defender's in turn
 */
export async function fight(dice, attackers, defenders) {
  const rolls = [];
  while (attackers && defenders) {
    const attack = await dice.throw("attack", Math.min(attackers, MAX_ATTACK_DICE));
    const defence = await dice.throw("attack", Math.min(defenders, MAX_DEFENCE_DICE));
    if (rolls.length < 2 * MAX_RECORDED_ROUNDS) rolls.push(attack, defence);
    const [highest, against] = [attack, defence].map((faces) => [...faces].sort((a, b) => b - a));
    for (let i = 0; i < Math.min(attack.length, defence.length); i++) {
      if (highest[i] > against[i]) defenders -= 1;
      else attackers -= 1;
    }
  }
  return { attackers, defenders, dice: rolls };
}

/** Return the survivors without dice: a larger attack wins and keeps the difference; else a defender stays. */
export function settle(attackers, defenders) {
  if (attackers > defenders) return { attackers: attackers - defenders, defenders: 0 };
  return { attackers: 0, defenders: Math.max(1, defenders - attackers) };
}
