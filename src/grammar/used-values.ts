// The elements that an array of distinct elements has so far, as an immutable value with a short key.

import { canonical, type Json } from './json-value.ts';

export interface UsedValues {
  /** Distinguishes sets of values in keys. */
  readonly id: number;
  /** Canonical texts of the values. */
  readonly texts: ReadonlySet<string>;
  readonly values: readonly Json[];
}

/** Most sets that are found again by their values. */
const MOST_KEPT = 10_000;

export class UsedValueSets {
  readonly none: UsedValues = { id: 0, texts: new Set(), values: [] };
  readonly #sets = new Map<string, UsedValues>();
  #made = 0;

  /** The set with one more value; null: it has the value. */
  with(used: UsedValues, value: Json): UsedValues | null {
    const text = canonical(value);
    if (used.texts.has(text)) return null;
    const texts = [...used.texts, text].toSorted();
    const key = texts.join('\n');
    let found = this.#sets.get(key);
    if (found === undefined) {
      if (this.#sets.size >= MOST_KEPT) this.#sets.clear();
      found = { id: ++this.#made, texts: new Set(texts), values: [...used.values, value] };
      this.#sets.set(key, found);
    }
    return found;
  }
}
