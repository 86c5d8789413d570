// Who plays what is wanted: one call a line on standard input, [function, …arguments]; what it returns, on standard output.
// `node who_plays.mjs FOLDER` takes the module from there.
import { createInterface } from "node:readline";

const module = await import(`${process.argv[2]}/play/who-plays.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...values] = JSON.parse(line);
  console.log(JSON.stringify(module[name](...values) ?? null));
}
