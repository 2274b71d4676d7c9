// Elements, lengths and truth, as iter(), len() and bool() give them.

import { codePoints, countPoints } from './code-points.ts';
import { Dict, DictView } from './dict.ts';
import { typeError } from './failure.ts';
import type { Meter } from './meter.ts';
import {
  Float,
  isList,
  isText,
  Lazy,
  Markup,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';
import { LoopContext } from './loop-context.ts';

/** Throws TypeError for what cannot be iterated. Each element costs a step. */
export function* iterate(value: Value, meter: Meter): Generator<Value> {
  for (const element of elementsOf(value, meter)) {
    meter.step();
    yield element;
  }
}

export function isIterable(value: Value): boolean {
  return (
    isText(value) ||
    isList(value) ||
    value instanceof Tuple ||
    value instanceof Dict ||
    value instanceof DictView ||
    value instanceof Range ||
    value instanceof Lazy ||
    value instanceof Undefined ||
    value instanceof LoopContext
  );
}

function elementsOf(value: Value, meter: Meter): Iterable<Value> {
  if (isList(value)) return value;
  if (value instanceof Tuple) return value.items;
  if (typeof value === 'string') return charactersOf(value, meter);
  if (value instanceof Dict) return value.keys();
  if (value instanceof DictView) return value.elements();
  if (value instanceof Range) return rangeOf(value);
  if (value instanceof Markup) return charactersOf(value.text, meter).map((char) => new Markup(char));
  if (value instanceof Lazy) return { [Symbol.iterator]: () => unclosed(value.iterator) };
  if (value instanceof LoopContext) return value.remaining();
  if (value instanceof Undefined) return [];
  throw typeError(`'${typeName(value)}' object is not iterable`);
}

/** The iterator without `return`: leaving a loop does not end a generator, which goes on where it was. */
function unclosed(iterator: Iterator<Value>): Iterator<Value> {
  return { next: () => iterator.next() };
}

function* rangeOf(range: Range): Generator<number> {
  for (let at = 0; at < range.length; at++) yield range.at(at);
}

function charactersOf(text: string, meter: Meter): string[] {
  meter.hold(text.length);
  return codePoints(text);
}

/** Elements of a value, as by list(). */
export function listOf(value: Value, meter: Meter): Value[] {
  if (isList(value)) {
    meter.hold(value.length);
    return [...value];
  }
  const list: Value[] = [];
  for (const element of iterate(value, meter)) {
    meter.hold(1);
    list.push(element);
  }
  return list;
}

/** Code points, elements or keys; null where the value has no length. */
export function lengthOf(value: Value, meter: Meter): number | null {
  if (typeof value === 'string') {
    meter.read(value.length);
    return countPoints(value);
  }
  if (isList(value)) return value.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof Range) return value.length;
  if (value instanceof DictView) return value.of.size;
  if (value instanceof Markup) return countPoints(value.text);
  if (value instanceof Undefined) return 0;
  if (value instanceof LoopContext) return value.length;
  return null;
}

export function requireLength(value: Value, meter: Meter): number {
  const length = lengthOf(value, meter);
  if (length === null) throw typeError(`object of type '${typeName(value)}' has no len()`);
  return length;
}

export function isTrue(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  if (typeof value === 'string') return value !== '';
  if (typeof value === 'number') return value !== 0;
  if (typeof value === 'bigint') return value !== 0n;
  if (isList(value)) return value.length > 0;
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof Dict) return value.size > 0;
  if (value instanceof Tuple) return value.items.length > 0;
  if (value instanceof Range) return value.length > 0;
  if (value instanceof DictView) return value.of.size > 0;
  if (value instanceof Markup) return value.text !== '';
  return !(value instanceof Undefined);
}
