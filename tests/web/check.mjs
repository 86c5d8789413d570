// Checks match documents: one a line on standard input, the steps and the verdict of each as a line on standard output.
// `node check.mjs FOLDER` takes the modules from there; with `--own` as a page that has no Web Crypto.
import { createInterface } from "node:readline";

const [folder, own] = process.argv.slice(2);
if (own) Object.defineProperty(globalThis, "crypto", { value: {} });
await import(`${folder}/page.mjs`);
const { check } = await import(`${folder}/check/check.js`);
const { verdictOf } = await import(`${folder}/check/verdict.js`);
const { byBrowser } = await import(`${folder}/check/hash.js`);
if (byBrowser === Boolean(own)) throw new Error("the other hashing is at work");

for await (const line of createInterface({ input: process.stdin })) {
  const steps = [];
  const document = JSON.parse(line);
  for await (const step of check(document)) steps.push(step);
  console.log(JSON.stringify({ steps, verdict: verdictOf(document, steps) }));
}
