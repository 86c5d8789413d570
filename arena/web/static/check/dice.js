// The dice of one event, drawn again from the key of the match, with a trace of every byte; docs/protocol.md has them
// under "Dice that anyone can check".

import { toHex, utf8 } from "./hash.js";

const MOST_TRACED = 400;
const MOST_TOLD = 8;

/**
 * @typedef {object} Choice a number drawn from the bytes of a stream
 * @property {string} bytes those it took, in hex
 * @property {number} number what they are together
 * @property {number} among how many numbers there were to choose from
 * @property {boolean} thrown whether they were thrown away, as some numbers would come more often otherwise
 * @property {number} [choice] `number` mod `among`
 *
 * @typedef {object} Trace how the choices of an event came about
 * @property {string} purpose
 * @property {{name: string, hex: string}[]} blocks what was given to HMAC and what it gave
 * @property {Choice[]} choices the first 400
 * @property {number} drawn how many choices there were in all
 * @property {number} draws how often all was drawn anew; the choices are those of the last time
 */

/** The rolls of one event. */
export class Dice {
  /**
   * @param {(message: Uint8Array) => Promise<Uint8Array>} mac HMAC-SHA256 with the key of the match
   * @param {number} ply
   */
  constructor(mac, ply) {
    this.mac = mac;
    this.ply = ply;
    /** @type {Map<string, {trace: Trace, block: Uint8Array, at: number, next: number}>} */
    this.streams = new Map();
  }

  /** @returns {Trace | undefined} of the stream that was used first; most events use one */
  get trace() {
    return this.traces[0];
  }

  /** @returns {Trace[]} of every stream that was used */
  get traces() {
    return [...this.streams.values()].map(({ trace }) => trace);
  }

  /** A number from 0 to `among` − 1. */
  async choice(purpose, among) {
    const stream = this.stream(purpose);
    const width = among > 256 ? 2 : 1;
    const limit = 256 ** width - (256 ** width % among);
    for (;;) {
      const bytes = [];
      while (bytes.length < width) bytes.push(await this.byte(stream, purpose));
      const number = bytes.reduce((sum, byte) => 256 * sum + byte, 0);
      const thrown = number >= limit;
      const { trace } = stream;
      if (!thrown) trace.drawn += 1;
      if (trace.choices.length < MOST_TRACED) {
        const choice = { bytes: toHex(bytes), number, among, thrown };
        trace.choices.push(thrown ? choice : { ...choice, choice: number % among });
      }
      if (!thrown) return number % among;
    }
  }

  /** So many dice of 1 to 6, in the order in which they are drawn. */
  async throw(purpose, count) {
    const faces = [];
    while (faces.length < count) faces.push(1 + (await this.choice(purpose, 6)));
    return faces;
  }

  /** The numbers below `count` in another order: from the last place down, each swapped with one up to it. */
  async shuffle(purpose, count) {
    const items = Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = await this.choice(purpose, i + 1);
      [items[i], items[j]] = [items[j], items[i]];
    }
    return items;
  }

  /** All that was drawn counts for nothing, and what follows is drawn in its place. */
  again(purpose) {
    const { trace } = this.stream(purpose);
    Object.assign(trace, { blocks: trace.blocks.slice(-1), choices: [], draws: trace.draws + 1 });
  }

  stream(purpose) {
    let stream = this.streams.get(purpose);
    if (stream === undefined) {
      const trace = { purpose, blocks: [], choices: [], drawn: 0, draws: 1 };
      stream = { trace, block: new Uint8Array(), at: 0, next: 0 };
      this.streams.set(purpose, stream);
    }
    return stream;
  }

  async byte(stream, purpose) {
    if (stream.at === stream.block.length) {
      const name = `${purpose}:${this.ply}:${stream.next}`;
      stream.block = await this.mac(utf8(name));
      stream.next += 1;
      stream.at = 0;
      if (stream.trace.choices.length < MOST_TRACED) stream.trace.blocks.push({ name, hex: toHex(stream.block) });
    }
    return stream.block[stream.at++];
  }
}

/**
 * The first block and the first choices of an event in a line.
 * @param {Trace} trace
 * @param {(choice: Choice, purpose: string) => string} told what a choice stands for
 */
export function tellTrace(trace, told) {
  const blocks = trace.blocks.slice(0, 1).map(({ name, hex }) => `${name} = ${hex.slice(0, 16)}…`);
  const choices = trace.choices.slice(0, MOST_TOLD).map((choice) => {
    return `${choice.bytes} = ${choice.number}, ${choice.thrown ? "thrown away" : told(choice, trace.purpose)}`;
  });
  const draws = trace.draws > 1 ? [`draw ${trace.draws}`] : [];
  const more = trace.choices.length > MOST_TOLD ? ["…"] : [];
  return [...draws, ...blocks, ...choices, ...more].join("; ");
}
