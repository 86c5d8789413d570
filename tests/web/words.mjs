// Words of games: one call a line on standard input, [game, method, …arguments]; what it returns, on standard output.
// `node words.mjs FOLDER` takes the modules from there.
import { createInterface } from "node:readline";

const folder = process.argv[2];
await import(`${folder}/page.mjs`);
const { boardClass, loadBoards } = await import(`${folder}/board/index.js`);
const { endingInWords } = await import(`${folder}/board/ending-text.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const [game, method, ...values] = JSON.parse(line);
  await loadBoards(game);
  const Board = boardClass(game);
  const owner = method in Board ? Board : Board.prototype;
  const found = method === "ending" ? endingInWords({ game, ...values[0] }).why : owner[method](...values);
  console.log(JSON.stringify(found));
}
