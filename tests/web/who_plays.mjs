// Who plays what is wanted, and names: one call a line on standard input, [function, …arguments]; what it returns, on
// standard output. `node who_plays.mjs FOLDER` takes the modules from there.
import { createInterface } from "node:readline";

await import(`${process.argv[2]}/page.mjs`);
const modules = { ...(await import(`${process.argv[2]}/play/who-plays.js`)), ...(await import(`${process.argv[2]}/identity.js`)) };

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...values] = JSON.parse(line);
  const found = modules[name];
  console.log(JSON.stringify((typeof found === "function" ? found(...values) : found) ?? null));
}
