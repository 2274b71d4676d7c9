// A map of bounded size that evicts the least recently used entries.

export interface LruOptions<V> {
  /** Largest sum of the sizes of all entries. */
  maxSize: number;
  /** Size of an entry; left out: 1. */
  sizeOf?: (value: V) => number;
}

export class LruCache<K, V> {
  /** In the order of use: the least recently used entry first. */
  readonly #entries = new Map<K, V>();
  readonly #maxSize: number;
  readonly #sizeOf: (value: V) => number;
  #size = 0;
  /** The entry used last, which needs no reordering. */
  #latest: K | undefined = undefined;

  constructor({ maxSize, sizeOf = () => 1 }: LruOptions<V>) {
    this.#maxSize = maxSize;
    this.#sizeOf = sizeOf;
  }

  /** Sum of the sizes of all entries. */
  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#latest) return value;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#latest = key;
    return value;
  }

  /** A value larger than the whole cache is not stored. */
  set(key: K, value: V): void {
    const size = this.#sizeOf(value);
    const before = this.#entries.get(key);
    if (before !== undefined) {
      this.#size -= this.#sizeOf(before);
      this.#entries.delete(key);
    }
    if (size > this.#maxSize) return;
    this.#entries.set(key, value);
    this.#latest = key;
    this.#size += size;
    for (const [oldest, evicted] of this.#entries) {
      if (this.#size <= this.#maxSize) return;
      this.#entries.delete(oldest);
      this.#size -= this.#sizeOf(evicted);
    }
  }
}
