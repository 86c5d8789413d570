// Draws the dice of one event again from the match's key, and traces every byte. docs/protocol.md describes the dice
// under "Dice that anyone can check".

import { toHex, utf8 } from "./hash.js";

const MAX_TRACED_CHOICES = 400;
const MAX_SHOWN_CHOICES = 8;

/**
 * @typedef {object} Choice a number drawn from the bytes of a stream
 * @property {string} bytes the bytes used, in hex
 * @property {number} number their value
 * @property {number} among the number of possible results
 * @property {boolean} thrown whether they were rejected, to keep all results equally likely
 * @property {number} [choice] `number` mod `among`
 *
 * @typedef {object} Trace how the choices of an event were drawn
 * @property {string} purpose
 * @property {{name: string, hex: string}[]} blocks inputs and outputs of HMAC
 * @property {Choice[]} choices the first 400
 * @property {number} drawn the number of all choices
 * @property {number} draws how often the whole draw was repeated; the choices are those of the last time
 */

/** The dice of one event. */
export class Dice {
  /**
   * @param {(message: Uint8Array) => Promise<Uint8Array>} mac HMAC-SHA256 with the match's key
   * @param {number} ply
   */
  constructor(mac, ply) {
    this.mac = mac;
    this.ply = ply;
    /** @type {Map<string, {trace: Trace, block: Uint8Array, at: number, next: number}>} */
    this.streams = new Map();
  }

  /** @returns {Trace | undefined} the trace of the first stream; most events use only one */
  get trace() {
    return this.traces[0];
  }

  /** @returns {Trace[]} the traces of all streams */
  get traces() {
    return [...this.streams.values()].map(({ trace }) => trace);
  }

  /** Draw a number from 0 to `among` − 1. */
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
      if (trace.choices.length < MAX_TRACED_CHOICES) {
        const choice = { bytes: toHex(bytes), number, among, thrown };
        trace.choices.push(thrown ? choice : { ...choice, choice: number % among });
      }
      if (!thrown) return number % among;
    }
  }

  /** Throw `count` dice of 1 to 6, in the order of drawing. */
  async throw(purpose, count) {
    const faces = [];
    while (faces.length < count) faces.push(1 + (await this.choice(purpose, 6)));
    return faces;
  }

  /** Shuffle the numbers below `count`: from the last place down, swap each with one at or before it. */
  async shuffle(purpose, count) {
    const items = Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = await this.choice(purpose, i + 1);
      [items[i], items[j]] = [items[j], items[i]];
    }
    return items;
  }

  /** Discard all choices of a stream; the following ones replace them. */
  restart(purpose) {
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
      if (stream.trace.choices.length < MAX_TRACED_CHOICES) stream.trace.blocks.push({ name, hex: toHex(stream.block) });
    }
    return stream.block[stream.at++];
  }
}

/**
 * Return the first block and the first choices of an event in a line.
 * @param {Trace} trace
 * @param {(choice: Choice, purpose: string) => string} told returns the meaning of a choice
 */
export function tellTrace(trace, told) {
  const blocks = trace.blocks.slice(0, 1).map(({ name, hex }) => `${name} = ${hex.slice(0, 16)}…`);
  const choices = trace.choices.slice(0, MAX_SHOWN_CHOICES).map((choice) => {
    return `${choice.bytes} = ${choice.number}, ${choice.thrown ? "thrown away" : told(choice, trace.purpose)}`;
  });
  const draws = trace.draws > 1 ? [`draw ${trace.draws}`] : [];
  const more = trace.choices.length > MAX_SHOWN_CHOICES ? ["…"] : [];
  return [...draws, ...blocks, ...choices, ...more].join("; ");
}
