// The elements that an array of distinct elements has so far, as an immutable value.

import { canonical, type Json } from './json-value.ts';

let made = 0;

export class UsedValues {
  /** Distinguishes them in keys. */
  readonly id = made++;
  readonly size: number;
  readonly #before: UsedValues | null;
  readonly #value: Json;
  readonly #after = new Map<string, UsedValues>();
  #texts: ReadonlySet<string> | null = null;
  #values: readonly Json[] | null = null;

  /** `before`: the elements before the value; left out: there are none, and no value. */
  constructor(before: UsedValues | null = null, value: Json = null) {
    this.#before = before;
    this.#value = value;
    this.size = before === null ? 0 : before.size + 1;
  }

  /** Canonical texts of the values. */
  get texts(): ReadonlySet<string> {
    return (this.#texts ??= new Set(this.values.map(canonical)));
  }

  get values(): readonly Json[] {
    return (this.#values ??= this.#before === null ? [] : [...this.#before.values, this.#value]);
  }

  /** With one more value; null: it is among them. */
  with(value: Json): UsedValues | null {
    const text = canonical(value);
    if (this.texts.has(text)) return null;
    let found = this.#after.get(text);
    if (found === undefined) this.#after.set(text, (found = new UsedValues(this, value)));
    return found;
  }
}
