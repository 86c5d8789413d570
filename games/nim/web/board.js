/** The board of nim: heaps of counters, the last one on top. Pressing a counter takes it and those above it. */

export default ({ Board, Roving, either, el, put, say, seatWithVerb, sentence }) => {
  const MAX_STACK_HEIGHT = 12; // maximum counters on one stack; larger heaps have several

  class NimBoard extends Board {
    constructor(match, game) {
      super(match, game);
      this.heaps = match.config.heaps.map((_, heap) => makeHeap(heap));
      this.face.append(...this.heaps.map(({ element }) => element));
      const widths = match.config.heaps.map(widthOf);
      this.face.style.setProperty("--across", widths.reduce((sum, width) => sum + width, 0));
      this.face.style.setProperty("--heaps", widths.length);
      this.face.style.setProperty("--high", Math.max(1, ...match.config.heaps.map((size) => Math.ceil(size / widthOf(size)))));
      this.roving = new Roving(this.face, (part) => this.#press(part), (part) => this.#point(part));
    }

    draw() {
      const { event, before } = this.view;
      const taken = before?.heaps ? event?.move?.heap : undefined;
      const parts = [];
      for (const [heap, size] of this.state.heaps.entries()) {
        const ghosts = heap === taken ? before.heaps[heap] - size : 0;
        drawHeap(this.heaps[heap], this.config.heaps[heap], size, ghosts, event?.seat);
        if (this.isPlayable) for (let at = size - 1; at >= 0; at--) parts.push([this.heaps[heap].counters[at], this.#offer(heap, size, size - at)]);
      }
      this.roving.offer(parts);
      this.#point(null);
    }

    get instructions() {
      const { take } = this.config;
      return `Press a counter to take it with all counters above it${take === null ? "" : `, ${either(take)} in all`}.`;
    }

    describe(state) {
      const heaps = state.heaps.map((size, heap) => `heap ${heap + 1} holds ${size}`).join(", ");
      return `${sentence(heaps)} ${super.describe(state)}`;
    }

    static moveText(config, { heap, take }) {
      return `${take} from heap ${heap + 1}`;
    }

    static dealText({ heaps }) {
      return `deals heaps of ${heaps.join(", ")}`;
    }

    static endingText({ config, event, ...ended }) {
      if (!event?.move) return undefined;
      const verb = config.misere ? "had to take the last counter" : "took the last counter";
      return seatWithVerb(ended, event.seat, verb, verb);
    }

    #offer(heap, size, take) {
      return `take ${take} from heap ${heap + 1}, leaving ${size - take}${this.#may(take) ? "" : ": not allowed"}`;
    }

    #may(take) {
      return this.config.take === null || this.config.take.includes(take);
    }

    #chosen(part) {
      const heap = Number(part.dataset.heap);
      return { heap, take: this.state.heaps[heap] - Number(part.dataset.at) };
    }

    #press(part) {
      const { heap, take } = this.#chosen(part);
      if (this.#may(take)) this.choose({ heap, take });
      else this.onRefuse(`That would take ${take}: a move must take ${either(this.config.take)}.`);
    }

    #point(part) {
      const chosen = part && this.isPlayable ? this.#chosen(part) : null;
      for (const [heap, { counters, told }] of this.heaps.entries()) {
        const size = this.state.heaps[heap];
        const from = chosen?.heap === heap ? size - chosen.take : Infinity;
        for (const [at, counter] of counters.entries()) {
          counter.classList.toggle("picked", at >= from && at < size);
          counter.classList.toggle("refused", at >= from && at < size && !this.#may(size - from));
        }
        say(told, from < size ? `take ${size - from}` : "");
      }
    }
  }

  function makeHeap(heap) {
    const stack = el("div", { class: "counters" });
    const size = el("b");
    const told = el("span", { class: "part-told" });
    const element = el("div", { class: "heap" }, stack, el("p", { class: "part-label" }, `heap ${heap + 1}: `, size), told);
    return { heap, element, stack, size, told, counters: [], shown: "" };
  }

  /** Draw `size` counters, ghosts of those that a seat has just taken, and empty places of those taken before. */
  function drawHeap(heap, most, size, ghosts, seat) {
    const shown = `${size} ${ghosts} ${seat}`;
    if (heap.shown === shown) return;
    heap.shown = shown;
    heap.stack.style.setProperty("--wide", widthOf(Math.max(most, size)));
    for (const counter of heap.counters.splice(Math.max(most, size + ghosts))) counter.remove();
    for (let at = heap.counters.length; at < Math.max(most, size + ghosts); at++) heap.counters.push(el("span", { "data-heap": heap.heap, "data-at": at }));
    heap.stack.append(...heap.counters.filter((counter) => !counter.parentNode));
    for (const [at, counter] of heap.counters.entries()) put(counter, "class", at < size ? "counter" : at < size + ghosts ? `counter ghost seat-${seat}` : "gone");
    say(heap.size, size);
  }

  /** Return the number of stacks of a heap. */
  function widthOf(size) {
    return Math.max(1, Math.min(10, Math.ceil(size / MAX_STACK_HEIGHT)));
  }

  return NimBoard;
};
