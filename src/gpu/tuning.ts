// Variants of a kernel that compute the same result at different speeds. The first that a launcher offers is used until a
// measurement on this adapter found another to be faster.

/** Numbers that identify a variant; two with equal numbers are the same. */
export type Variant = Readonly<Record<string, number>>;

/** The fastest variant by key of the computation. */
export type TunedVariants = Readonly<Record<string, Variant>>;

export class Tuning {
  readonly #fastest = new Map<string, Variant>();
  /** Keys that were requested and never measured. */
  readonly unknown = new Set<string>();
  #trial: Trial | null = null;

  /** Returns the variant to record for a key. */
  choose<T extends Variant>(key: string, variants: readonly [T, ...T[]]): T {
    if (this.#trial) return this.#trial.choose(key, variants);
    const fastest = this.#fastest.get(key);
    if (!fastest) this.unknown.add(key);
    return variants.find((variant) => fastest && isSame(variant, fastest)) ?? variants[0];
  }

  /** Runs `run` with the variant at index `place` wherever a list is that long, otherwise with the list's last. */
  async trying<T>(place: number, run: (trial: Trial) => Promise<T>): Promise<T> {
    this.#trial = new Trial(place);
    try {
      return await run(this.#trial);
    } finally {
      this.#trial = null;
    }
  }

  /** Stores measured variants. */
  learn(tuned: TunedVariants): void {
    for (const [key, variant] of Object.entries(tuned)) {
      this.#fastest.set(key, variant);
      this.unknown.delete(key);
    }
  }
}

/** Records which variants were used while one index of every list was tried. */
class Trial {
  readonly #place: number;
  readonly #chosen = new Map<string, Variant>();
  #places = 0;

  constructor(place: number) {
    this.#place = place;
  }

  /** Number of indices to try. */
  get places(): number {
    return this.#places;
  }

  /** Returns the variant that was recorded for a key. */
  chosen(key: string): Variant | undefined {
    return this.#chosen.get(key);
  }

  choose<T extends Variant>(key: string, variants: readonly [T, ...T[]]): T {
    this.#places = Math.max(this.#places, variants.length);
    const variant = variants[this.#place] ?? variants.at(-1)!;
    this.#chosen.set(key, variant);
    return variant;
  }
}

export function isSame(a: Variant, b: Variant): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
