// Which experts of a layer are in which slots: the least recently used gives its slot away.

/** Slots of the experts that one round computes, and those of them that have to be brought. */
export interface SlotRound {
  /** Slots by expert. */
  slots: ReadonlyMap<number, number>;
  missing: readonly (readonly [expert: number, slot: number])[];
}

export class SlotCache {
  readonly #count: number;
  /** Slots by expert, the least recently used first. */
  readonly #slots = new Map<number, number>();

  /** `count`: number of slots. */
  constructor(count: number) {
    this.#count = count;
  }

  /** Returns the rounds that compute these experts, each named once: those in slots first, so that none of them is brought again. */
  rounds(experts: readonly number[]): SlotRound[] {
    const held = experts.filter((expert) => this.#slots.has(expert));
    const all = [...held, ...experts.filter((expert) => !this.#slots.has(expert))];
    const rounds: SlotRound[] = [];
    for (let at = 0; at < all.length; at += this.#count)
      rounds.push(this.#round(all.slice(at, at + this.#count)));
    return rounds;
  }

  /** At most as many experts as there are slots, those that have one first. */
  #round(experts: readonly number[]): SlotRound {
    const slots = new Map<number, number>();
    const missing: [expert: number, slot: number][] = [];
    for (const expert of experts) {
      const held = this.#slots.get(expert);
      const slot = held ?? this.#free();
      if (held === undefined) missing.push([expert, slot]);
      this.#slots.delete(expert);
      this.#slots.set(expert, slot);
      slots.set(expert, slot);
    }
    return { slots, missing };
  }

  #free(): number {
    if (this.#slots.size < this.#count) return this.#slots.size;
    const [oldest, slot] = this.#slots.entries().next().value!;
    this.#slots.delete(oldest);
    return slot;
  }
}
