// `value[start:stop:step]`.

import { codePoints, countPoints, hasPairs } from '../values/code-points.ts';
import { Dict } from '../values/dict.ts';
import { TemplateFailure, typeError } from '../values/failure.ts';
import type { Meter } from '../values/meter.ts';
import { isInt, isList, Markup, Range, Tuple, typeName, Undefined, type Value } from '../values/values.ts';

export interface Bounds {
  start: Value;
  stop: Value;
  step: Value;
}

export function slice(value: Value, bounds: Bounds, meter: Meter): Value {
  if (value instanceof Undefined) return value.raise();
  if (isList(value)) return picked(value, bounds, meter);
  if (value instanceof Tuple) return new Tuple(picked(value.items, bounds, meter));
  if (value instanceof Markup) return new Markup(sliceText(value.text, bounds, meter));
  if (typeof value === 'string') return sliceText(value, bounds, meter);
  if (value instanceof Range) {
    const { from, to, step } = rangeOf(bounds, value.length);
    return new Range(value.at(from), value.at(to), value.step * step);
  }
  if (value instanceof Dict) throw typeError("unhashable type: 'slice'");
  throw typeError(`'${typeName(value)}' object is not subscriptable`);
}

function picked(items: readonly Value[], bounds: Bounds, meter: Meter): readonly Value[] {
  const { from, to, step } = rangeOf(bounds, items.length);
  meter.hold(Math.max(0, Math.ceil((to - from) / step)));
  if (step === 1) return items.slice(from, Math.max(from, to));
  const chosen: Value[] = [];
  for (const index of indices(bounds, items.length)) chosen.push(items[index]!);
  return chosen;
}

function sliceText(text: string, bounds: Bounds, meter: Meter): string {
  meter.read(text.length);
  const { from, to, step } = rangeOf(bounds, countPoints(text));
  if (step === 1 && !hasPairs(text)) return text.slice(from, Math.max(from, to));
  meter.hold(text.length);
  const points = codePoints(text);
  if (step === 1) return points.slice(from, Math.max(from, to)).join('');
  let result = '';
  for (const index of indices(bounds, points.length)) result += points[index]!;
  meter.make(result.length);
  return result;
}

function rangeOf(
  { start, stop, step: by }: Bounds,
  length: number,
): { from: number; to: number; step: number } {
  const step = by === null ? 1 : requireIndex(by);
  if (step === 0) throw new TemplateFailure('ValueError', 'slice step cannot be zero');
  const [least, most] = step > 0 ? [0, length] : [-1, length - 1];
  const place = (value: Value, usual: number): number => {
    if (value === null) return usual;
    const at = requireIndex(value);
    return Math.min(most, Math.max(least, at < 0 ? at + length : at));
  };
  return { from: place(start, step > 0 ? 0 : most), to: place(stop, step > 0 ? length : -1), step };
}

function requireIndex(value: Value): number {
  if (isInt(value)) return Number(value);
  if (value instanceof Undefined) return value.raise();
  throw typeError('slice indices must be integers or None or have an __index__ method');
}

function* indices(bounds: Bounds, length: number): Generator<number> {
  const { from, to, step } = rangeOf(bounds, length);
  for (let at = from; step > 0 ? at < to : at > to; at += step) yield at;
}
