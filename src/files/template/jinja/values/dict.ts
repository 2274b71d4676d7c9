// dict, its views, and namespace(). Keys are equal where Python finds them equal: 1, 1.0 and True are one key.

import { typeError } from './failure.ts';
import type { Meter } from './meter.ts';
import { Float, isList, Markup, PythonObject, Tuple, typeName, type Value } from './values.ts';

interface Entry {
  key: Value;
  value: Value;
}

/** The key of a Map. A string is its own key; '\0' begins the keys of other values, and of strings that begin with it. */
type Hash = string | number | bigint | null | object;

export class Dict extends PythonObject {
  readonly typeName: string = 'dict';
  /** The JSON text that a client sent for this dict; printing it gives this text. */
  readonly sourceText: string | null;
  readonly #entries = new Map<Hash, Entry>();

  constructor(sourceText: string | null = null) {
    super();
    this.sourceText = sourceText;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value, meter: Meter): Value | undefined {
    return this.#entries.get(hash(key, meter))?.value;
  }

  /** `get` for a name. */
  getName(name: string): Value | undefined {
    return this.#entries.get(hashText(name))?.value;
  }

  has(key: Value, meter: Meter): boolean {
    return this.#entries.has(hash(key, meter));
  }

  set(key: Value, value: Value, meter: Meter): void {
    this.#put(hash(key, meter), key, value);
  }

  setName(name: string, value: Value): void {
    this.#put(hashText(name), name, value);
  }

  *keys(): Generator<Value> {
    for (const { key } of this.#entries.values()) yield key;
  }

  *values(): Generator<Value> {
    for (const { value } of this.#entries.values()) yield value;
  }

  *items(): Generator<Tuple> {
    for (const { key, value } of this.#entries.values()) yield new Tuple([key, value]);
  }

  pairs(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** A change of the value keeps the key and its place. */
  #put(hashed: Hash, key: Value, value: Value): void {
    const known = this.#entries.get(hashed);
    if (known) known.value = value;
    else this.#entries.set(hashed, { key, value });
  }
}

/** dict.keys(), values() and items(). */
export class DictView extends PythonObject {
  readonly typeName: 'dict_keys' | 'dict_values' | 'dict_items';
  readonly of: Dict;
  readonly #part: 'keys' | 'values' | 'items';
  constructor(of: Dict, part: 'keys' | 'values' | 'items') {
    super();
    this.of = of;
    this.#part = part;
    this.typeName = `dict_${part}`;
  }
  elements(): Generator<Value> {
    return this.of[this.#part]();
  }
}

/** namespace(): the only value that a template can change. */
export class Namespace extends PythonObject {
  readonly typeName = 'TemplateNamespace';
  readonly members: Dict;
  constructor(members: Dict) {
    super();
    this.members = members;
  }
}

function hashText(text: string): string {
  return text.startsWith('\0') ? `\0s${text}` : text;
}

/** Throws TypeError for a value that has no hash. */
function hash(key: Value, meter: Meter): Hash {
  if (typeof key === 'string') return hashText(key);
  if (typeof key === 'boolean') return Number(key);
  if (key === null || typeof key === 'number' || typeof key === 'bigint') return key;
  if (key instanceof Float) {
    const { value } = key;
    const whole = Number.isInteger(value) && !Number.isSafeInteger(value);
    return whole ? BigInt(value) : value === 0 ? 0 : value;
  }
  if (key instanceof Markup) return hashText(key.text);
  if (key instanceof Tuple) {
    meter.step(key.items.length);
    const parts = key.items.map((item) => tupleItemHash(item, meter));
    const text = `\0t${parts.map((part) => `${part.length}:${part}`).join('')}`;
    meter.make(text.length);
    return text;
  }
  if (isList(key) || key instanceof Dict || key.typeName === 'dict_keys' || key.typeName === 'dict_items')
    throw typeError(`unhashable type: '${typeName(key)}'`);
  return key;
}

const numbers = new WeakMap<object, number>();
let lastNumber = 0;

function tupleItemHash(item: Value, meter: Meter): string {
  const hashed = hash(item, meter);
  if (typeof hashed === 'string') return `s${hashed}`;
  if (typeof hashed !== 'object' || hashed === null) return `n${String(hashed)}`;
  const known = numbers.get(hashed) ?? ++lastNumber;
  numbers.set(hashed, known);
  return `o${known}`;
}
