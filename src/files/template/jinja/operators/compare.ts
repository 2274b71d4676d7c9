// Equality, order and containment, as Python's operators give them.

import { Dict, DictView, Namespace } from '../values/dict.ts';
import { typeError } from '../values/failure.ts';
import { isIterable, iterate } from '../values/iterate.ts';
import type { Meter } from '../values/meter.ts';
import { printed } from '../values/print.ts';
import {
  Float,
  isInt,
  isList,
  isText,
  Markup,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from '../values/values.ts';

/** A number as JavaScript compares it: bigint and number mix in comparisons. */
function comparable(value: Value): number | bigint | null {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return Number(value);
  return value instanceof Float ? value.value : null;
}

export function isEqual(left: Value, right: Value, meter: Meter): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length === right.length) meter.read(left.length);
    return left === right;
  }
  meter.step();
  const a = comparable(left);
  const b = comparable(right);
  // oxlint-disable-next-line eqeqeq -- of a bigint and a number, `===` is never true
  if (a !== null || b !== null) return a !== null && b !== null && a == b;
  if (isText(left)) return isText(right) && printed(left, meter) === printed(right, meter);
  if (isList(left)) return isList(right) && equalSeries(left, right, meter);
  if (left instanceof Tuple) return right instanceof Tuple && equalSeries(left.items, right.items, meter);
  if (left instanceof Dict) return right instanceof Dict && equalDicts(left, right, meter);
  if (left instanceof Undefined) return right instanceof Undefined;
  if (left instanceof Range)
    return (
      right instanceof Range && equalSeries([...iterate(left, meter)], [...iterate(right, meter)], meter)
    );
  return left === right;
}

function equalSeries(left: readonly Value[], right: readonly Value[], meter: Meter): boolean {
  return left.length === right.length && left.every((item, at) => isSame(item, right[at]!, meter));
}

/** Equal, or one object: an element is always found equal to itself. */
function isSame(left: Value, right: Value, meter: Meter): boolean {
  return (left === right && typeof left === 'object') || isEqual(left, right, meter);
}

function equalDicts(left: Dict, right: Dict, meter: Meter): boolean {
  if (left.size !== right.size) return false;
  for (const { key, value } of left.pairs()) {
    const other = right.get(key, meter);
    if (other === undefined || !isSame(value, other, meter)) return false;
  }
  return true;
}

export type OrderOperator = '<' | '<=' | '>' | '>=';

/** Throws TypeError for types without an order. */
export function isOrdered(operator: OrderOperator, left: Value, right: Value, meter: Meter): boolean {
  if (left instanceof Undefined) return left.raise();
  if (right instanceof Undefined) return right.raise();
  meter.step();
  const a = comparable(left);
  const b = comparable(right);
  if (a !== null && b !== null) return ordered(operator, a, b);
  if (isText(left) && isText(right)) {
    meter.read(printed(left, meter).length);
    return ordered(operator, compareText(printed(left, meter), printed(right, meter)), 0);
  }
  const series = seriesOf(left, right);
  if (!series)
    throw typeError(
      `'${operator}' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`,
    );
  const [first, second] = series;
  const length = Math.min(first.length, second.length);
  for (let at = 0; at < length; at++) {
    const one = first[at]!;
    const other = second[at]!;
    if (!isSame(one, other, meter)) return isOrdered(operator, one, other, meter);
  }
  return ordered(operator, first.length, second.length);
}

function seriesOf(left: Value, right: Value): [readonly Value[], readonly Value[]] | null {
  if (isList(left) && isList(right)) return [left, right];
  return left instanceof Tuple && right instanceof Tuple ? [left.items, right.items] : null;
}

function ordered(operator: OrderOperator, a: number | bigint, b: number | bigint): boolean {
  if (operator === '<') return a < b;
  if (operator === '<=') return a <= b;
  return operator === '>' ? a > b : a >= b;
}

/** By code points: -1, 0 or 1. JavaScript compares UTF-16 units, where surrogates come before U+E000. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    if (x === y) continue;
    const isPair = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;
    if (isPair(x) !== isPair(y) && x >= 0xd800 && y >= 0xd800) return isPair(x) ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

/** A copy in Python's order; equal elements keep theirs, reversed or not. */
export function sorted(
  values: readonly Value[],
  key: (value: Value) => Value,
  isReversed: boolean,
  meter: Meter,
): Value[] {
  meter.hold(values.length * 2);
  const keyed = values.map((value) => ({ value, key: key(value) }));
  if (isReversed) keyed.reverse();
  keyed.sort((a, b) => {
    if (isOrdered('<', a.key, b.key, meter)) return -1;
    return isOrdered('<', b.key, a.key, meter) ? 1 : 0;
  });
  if (isReversed) keyed.reverse();
  return keyed.map(({ value }) => value);
}

/** `value in container`. */
export function contains(container: Value, value: Value, meter: Meter): boolean {
  if (typeof container === 'string' || container instanceof Markup) {
    if (!isText(value)) {
      if (value instanceof Dict && value.sourceText !== null)
        return printed(container, meter).includes(value.sourceText);
      throw typeError(`'in <string>' requires string as left operand, not ${typeName(value)}`);
    }
    const text = printed(container, meter);
    meter.read(text.length);
    return text.includes(printed(value, meter));
  }
  if (container instanceof Dict) return container.has(value, meter);
  if (container instanceof DictView && container.typeName === 'dict_keys')
    return container.of.has(value, meter);
  if (container instanceof Range && isInt(value)) {
    const at = (Number(value) - container.start) / container.step;
    return Number.isInteger(at) && at >= 0 && at < container.length;
  }
  if (!isIterable(container) || container instanceof Namespace)
    throw typeError(`argument of type '${typeName(container)}' is not iterable`);
  for (const element of iterate(container, meter)) if (isSame(element, value, meter)) return true;
  return false;
}
