// A client's JSON as values of a template.

import { Dict } from './dict.ts';
import type { Meter } from './meter.ts';
import { Float, type Value } from './values.ts';

/**
 * JSON text as a client sent it; a variable of a template is an object's. In a template it is a dict that prints, and joins other text, as
 * that text: a template that reads its members or pipes it to tojson has an object, and one that prints it keeps what the client wrote.
 */
export class JsonSource {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** `value`: plain data, with a JsonSource anywhere. Members that are undefined are left out. */
export function fromJson(value: unknown, meter: Meter): Value {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return numberOf(value, Number.isInteger(value) && Math.abs(value) < 1e21);
  if (typeof value === 'bigint') return value;
  if (Array.isArray(value)) {
    meter.hold(value.length);
    return value.map((item) => fromJson(item, meter));
  }
  if (value instanceof JsonSource) return new JsonReader(value.text, meter).read();
  const dict = new Dict();
  if (typeof value !== 'object') return dict;
  for (const [name, item] of Object.entries(value)) {
    if (item === undefined) continue;
    meter.hold(1);
    dict.setName(name, fromJson(item, meter));
  }
  return dict;
}

function numberOf(value: number, isInt: boolean): Value {
  if (!isInt) return new Float(value);
  return Number.isSafeInteger(value) ? value + 0 : BigInt(value);
}

const TOKEN =
  /[\t\n\r ]*("[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|[[\]{},:])/y;

/** Reads text that is known to be JSON. Unlike JSON.parse it keeps 1.0 apart from 1, and all digits. */
class JsonReader {
  readonly #text: string;
  readonly #meter: Meter;
  #at = 0;

  constructor(text: string, meter: Meter) {
    this.#text = text;
    this.#meter = meter;
    meter.read(text.length);
  }

  read(): Value {
    const first = this.#take();
    if (first !== '{') return this.#value(first);
    const dict = new Dict(this.#text);
    this.#members(dict);
    return dict;
  }

  #take(): string {
    TOKEN.lastIndex = this.#at;
    const token = TOKEN.exec(this.#text)?.[1];
    if (token === undefined) throw new SyntaxError(`no JSON at ${this.#at}`);
    this.#at = TOKEN.lastIndex;
    return token;
  }

  #value(token: string): Value {
    this.#meter.hold(1);
    const [first] = token;
    if (first === '"') return JSON.parse(token) as string;
    if (first === '{') {
      const dict = new Dict();
      this.#members(dict);
      return dict;
    }
    if (first === '[') {
      const list: Value[] = [];
      for (let next = this.#take(); next !== ']'; next = this.#take())
        if (next !== ',') list.push(this.#value(next));
      return list;
    }
    if (token === 'null') return null;
    if (first === 't' || first === 'f') return token === 'true';
    if (/[.eE]/.test(token)) return new Float(Number(token));
    const value = Number(token);
    if (Number.isSafeInteger(value)) return value + 0;
    this.#meter.widen(token.length * 4);
    return BigInt(token);
  }

  #members(dict: Dict): void {
    for (let next = this.#take(); next !== '}'; next = this.#take()) {
      if (next === ',') continue;
      this.#take();
      dict.setName(JSON.parse(next) as string, this.#value(this.#take()));
    }
  }
}
