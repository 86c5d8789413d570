// Matches as somebody saw them: one a line on standard input, [document, eye]; what each line of it is, on standard output.
// `node views.mjs FOLDER` takes the modules from there.
import { createInterface } from "node:readline";

await import(`${process.argv[2]}/page.mjs`);
const { loadBoards } = await import(`${process.argv[2]}/board/index.js`);
const { MatchDocument } = await import(`${process.argv[2]}/viewer/document.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const [document, eye] = JSON.parse(line);
  await loadBoards(document.header.game);
  const match = new MatchDocument(document);
  match.see(eye);
  const { isHidden, start, plies, strikes, record } = match;
  console.log(JSON.stringify({ isHidden, start, plies, strikes, record }));
}
