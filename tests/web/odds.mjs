// Chances of attacks: one a line on standard input, [game, config, state, move]; what it is, and its text, on standard output.
// `node odds.mjs MODULE` takes the functions from there.
import { createInterface } from "node:readline";

const { chanceOf, chanceText } = await import(process.argv[2]);

for await (const line of createInterface({ input: process.stdin })) {
  const chance = chanceOf(...JSON.parse(line));
  console.log(JSON.stringify([chance, chance === null ? "" : chanceText(chance)]));
}
