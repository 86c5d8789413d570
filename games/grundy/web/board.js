/** The board of Grundy's game: heaps as rows of counters. Pressing a counter splits its row after it. */

export default ({ Board, Roving, el, put, say, seatWithVerb }) => {
  class GrundyBoard extends Board {
    constructor(match, game) {
      super(match, game);
      this.heaps = [];
      this.element.style.setProperty("--counters", match.config.heaps.reduce((sum, size) => sum + size, 0));
      this.roving = new Roving(this.face, (part) => this.#press(part), (part) => this.#point(part));
    }

    draw() {
      const { heaps } = this.state;
      const { event } = this.view;
      for (const heap of this.heaps.splice(heaps.length)) heap.element.remove();
      while (this.heaps.length < heaps.length) {
        this.heaps.push(makeHeap(this.heaps.length));
        this.face.append(this.heaps.at(-1).element);
      }
      const parts = [];
      for (const [heap, size] of heaps.entries()) {
        const fresh = event?.move?.heap !== undefined && (heap === event.move.heap || heap === heaps.length - 1);
        drawHeap(this.heaps[heap], size, fresh ? `heap fresh seat-${event.seat}` : size < 3 ? "heap spent" : "heap");
        if (this.isPlayable) parts.push(...this.heaps[heap].counters.slice(0, -1).map((counter, at) => [counter, offer(heap, size, at + 1)]));
      }
      this.roving.offer(parts);
      this.#point(null);
    }

    get instructions() {
      return "Press a counter to split its heap after it, into two heaps of different sizes.";
    }

    describe(state) {
      return `Heaps of ${state.heaps.join(", ")}. ${super.describe(state)}`;
    }

    static moveText(config, { heap, split }) {
      return `split ${split} off heap ${heap + 1}`;
    }

    static endingText({ event, ...ended }) {
      return event?.move && `${seatWithVerb(ended, event.seat, "made the last split", "made the last split")}: no heap can be split again`;
    }

    #chosen(part) {
      const heap = Number(part.dataset.heap);
      const first = Number(part.dataset.at) + 1;
      return { heap, first, second: this.state.heaps[heap] - first };
    }

    #press(part) {
      const { heap, first, second } = this.#chosen(part);
      if (first !== second) this.choose({ heap, split: Math.min(first, second) });
      else if (first === 1) this.onRefuse("A heap of 2 can't be split into two different heaps.");
      else this.onRefuse(`That would make two heaps of ${first}: the sizes must differ.`);
    }

    #point(part) {
      const chosen = part && this.isPlayable ? this.#chosen(part) : null;
      for (const [heap, { counters, told }] of this.heaps.entries()) {
        const cut = chosen?.heap === heap ? chosen.first : 0;
        for (const [at, counter] of counters.entries()) {
          counter.classList.toggle("picked", at < cut);
          counter.classList.toggle("refused", at < cut && chosen.first === chosen.second);
          counter.classList.toggle("cut", at === cut - 1);
        }
        say(told, cut ? `into ${chosen.first} and ${chosen.second}` : "");
      }
    }
  }

  function makeHeap(heap) {
    const row = el("div", { class: "counters" });
    const size = el("b");
    const told = el("span", { class: "part-told" });
    const element = el("div", { class: "heap" }, el("p", { class: "part-label" }, `heap ${heap + 1}: `, size), row, told);
    return { heap, element, row, size, told, counters: [] };
  }

  function drawHeap(heap, size, kind) {
    put(heap.element, "class", kind);
    for (const counter of heap.counters.splice(size)) counter.remove();
    for (let at = heap.counters.length; at < size; at++) {
      heap.counters.push(el("span", { class: "counter", "data-heap": heap.heap, "data-at": at }));
      heap.row.append(heap.counters[at]);
    }
    say(heap.size, size);
  }

  function offer(heap, size, first) {
    return `split heap ${heap + 1} into ${first} and ${size - first}${2 * first === size ? ": not allowed, they are equal" : ""}`;
  }

  return GrundyBoard;
};
