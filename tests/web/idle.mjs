// What the wall says while nothing is on it: a listing a line on standard input, the text of each as a line on standard output.
// `node idle.mjs MODULE` takes the function from there.
import { createInterface } from "node:readline";

const { idleText } = await import(process.argv[2]);

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(idleText(JSON.parse(line))));
