// Runs functions on the modules of pages. A line on standard input is [function, …arguments], the function as source text;
// what it returns is a line on standard output. Its first argument imports a module of the pages.
// `node page_scripts.mjs FOLDER` takes the modules from there; with `--own` as a page that has no Web Crypto.
import { createInterface } from "node:readline";

const [folder, own] = process.argv.slice(2);
if (own) Object.defineProperty(globalThis, "crypto", { value: {} });
await import(`${folder}/page.mjs`);
const load = (path) => import(`${folder}/${path}`);

for await (const line of createInterface({ input: process.stdin })) {
  const [source, ...given] = JSON.parse(line);
  console.log(JSON.stringify((await eval(source)(load, ...given)) ?? null));
}
