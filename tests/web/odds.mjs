// Chances of attacks: one a line on standard input, [game, config, state, move]; what it is, and its text, on standard output.
// `node odds.mjs FOLDER` takes the modules from there.
import { createInterface } from "node:readline";

await import(`${process.argv[2]}/page.mjs`);
const { boardClass, loadBoards } = await import(`${process.argv[2]}/board/index.js`);
const { chanceText } = await import(`${process.argv[2]}/board/odds.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const [game, ...attack] = JSON.parse(line);
  await loadBoards(game);
  const chance = boardClass(game).chanceOf(...attack);
  console.log(JSON.stringify([chance, chance === null ? "" : chanceText(chance)]));
}
