// Filters over elements. Those that give an iterator in Python do here: their elements are computed when they are read.

import { calculate } from '../operators/arithmetic.ts';
import { codePoints } from '../values/code-points.ts';
import { isEqual, isOrdered, sorted } from '../operators/compare.ts';
import { Dict } from '../values/dict.ts';
import { TemplateFailure, typeError } from '../values/failure.ts';
import { filterTable, type Filter, type FilterContext } from './filter.ts';
import { isTrue, iterate, listOf, requireLength } from '../values/iterate.ts';
import { attributeOnly, element } from '../members/members.ts';
import type { Meter } from '../values/meter.ts';
import { requireInt, requireText, toInt } from '../values/numbers.ts';
import { isDigits } from '../members/string-form.ts';
import {
  isList,
  isText,
  Lazy,
  Markup,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from '../values/values.ts';

type Args = readonly Value[];

/** Reads a path such as `a.0.b` off a value. */
export function pathReader(attribute: Value, meter: Meter, usual: Value = null): (item: Value) => Value {
  const parts: Value[] =
    attribute === null
      ? []
      : isText(attribute)
        ? requireText(attribute, meter)
            .split('.')
            .map((part) => (isDigits(part) ? toInt(part, 10, meter) : part))
        : [attribute];
  return (item) => {
    let value = item;
    for (const part of parts) {
      value = element(value, part, meter);
      if (usual !== null && value instanceof Undefined) value = usual;
    }
    return value;
  };
}

/** Lowercase text where cases are to be alike. */
function foldCase(value: Value): Value {
  if (typeof value === 'string') return value.toLowerCase();
  return value instanceof Markup ? value.text.toLowerCase() : value;
}

function keyReader(attribute: Value, caseSensitive: Value, meter: Meter, usual: Value = null) {
  const read = pathReader(attribute, meter, usual);
  return isTrue(caseSensitive) ? read : (item: Value) => foldCase(read(item));
}

function lazy(make: () => Generator<Value>): Lazy {
  return new Lazy({ [Symbol.iterator]: make });
}

function sort([value, reverse, caseSensitive, attribute]: Args, { meter }: FilterContext): Value {
  const paths: Value[] = typeof attribute === 'string' ? attribute.split(',') : [attribute!];
  const readers = paths.map((path) => keyReader(path, caseSensitive!, meter));
  const [only] = readers;
  const key = readers.length === 1 && only ? only : (item: Value) => readers.map((read) => read(item));
  return sorted(listOf(value!, meter), key, isTrue(reverse!), meter);
}

function extreme(
  [value, caseSensitive, attribute]: Args,
  operator: '<' | '>',
  { meter }: FilterContext,
): Value {
  const key = keyReader(attribute!, caseSensitive!, meter);
  let best: { item: Value; key: Value } | null = null;
  for (const item of iterate(value!, meter)) {
    const candidate = { item, key: key(item) };
    if (best === null || isOrdered(operator, candidate.key, best.key, meter)) best = candidate;
  }
  return best === null ? new Undefined('No aggregated item, sequence was empty.') : best.item;
}

function unique([value, caseSensitive, attribute]: Args, { meter }: FilterContext): Value {
  const key = keyReader(attribute!, caseSensitive!, meter);
  return lazy(function* () {
    const seen = new Dict();
    for (const item of iterate(value!, meter)) {
      const own = key(item);
      if (seen.has(own, meter)) continue;
      meter.hold(1);
      seen.set(own, true, meter);
      yield item;
    }
  });
}

function groupBy([value, attribute, usual, caseSensitive]: Args, { meter }: FilterContext): Value {
  const key = keyReader(attribute!, caseSensitive!, meter, usual);
  const shownKey = pathReader(attribute!, meter, usual);
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sorted(listOf(value!, meter), key, false, meter)) {
    const own = key(item);
    const last = groups.at(-1);
    if (last && isEqual(last.key, own, meter)) last.items.push(item);
    else groups.push({ key: own, items: [item] });
  }
  return groups.map(({ items }) => new Tuple([shownKey(items[0]!), items], ['grouper', 'list']));
}

function dictSort([value, caseSensitive, by, reverse]: Args, { meter }: FilterContext): Value {
  if (by !== 'key' && by !== 'value')
    throw new TemplateFailure('TypeError', 'You can only sort by either "key" or "value"');
  if (value instanceof Undefined) return value.raise();
  if (!(value instanceof Dict)) throw typeError(`'${typeName(value!)}' object has no attribute 'items'`);
  const at = by === 'key' ? 0 : 1;
  const key = (pair: Value): Value => {
    const part = (pair as Tuple).items[at]!;
    return isTrue(caseSensitive!) ? part : foldCase(part);
  };
  return sorted([...value.items()], key, isTrue(reverse!), meter);
}

function first([value]: Args, { meter }: FilterContext): Value {
  for (const item of iterate(value!, meter)) return item;
  return new Undefined('No first item, sequence was empty.');
}

/** Elements from the end, as reversed() gives them. */
function reversed(value: Value, meter: Meter): Value[] {
  if (value instanceof Lazy) throw typeError(`'${value.typeName}' object is not reversible`);
  return listOf(value, meter).toReversed();
}

function last([value]: Args, { meter }: FilterContext): Value {
  const given: Value = value!;
  const item = isList(given) ? given[given.length - 1] : reversed(given, meter)[0];
  return item === undefined ? new Undefined('No last item, sequence was empty.') : item;
}

function reverse([value]: Args, { meter }: FilterContext): Value {
  if (typeof value === 'string' || value instanceof Markup) {
    const text = codePoints(requireText(value, meter)).toReversed().join('');
    return value instanceof Markup ? new Markup(text) : text;
  }
  const items = listOf(value!, meter).toReversed();
  if (value instanceof Lazy) return items;
  const names = isList(value!)
    ? 'list_reverseiterator'
    : value instanceof Range
      ? 'range_iterator'
      : 'reversed';
  return new Lazy(items, names);
}

function sum([value, attribute, start]: Args, { meter }: FilterContext): Value {
  const read = pathReader(attribute!, meter);
  if (isText(start!)) throw typeError("sum() can't sum strings [use ''.join(seq) instead]");
  let total: Value = start!;
  for (const item of iterate(value!, meter)) total = calculate('+', total, read(item), meter);
  return total;
}

function batch([value, size, fill = null]: Args, { meter }: FilterContext): Value {
  const count = requireInt(size!);
  return lazy(function* () {
    let row: Value[] = [];
    for (const item of iterate(value!, meter)) {
      if (row.length === count) {
        yield row;
        row = [];
      }
      meter.hold(1);
      row.push(item);
    }
    if (row.length === 0) return;
    const missing = fill === null ? 0 : Math.max(0, count - row.length);
    meter.hold(missing);
    for (let at = 0; at < missing; at++) row.push(fill);
    yield row;
  });
}

function slices([value, count, fill = null]: Args, { meter }: FilterContext): Value {
  return lazy(function* () {
    const items = listOf(value!, meter);
    const parts = requireInt(count!);
    if (parts === 0) throw new TemplateFailure('ZeroDivisionError', 'integer division or modulo by zero');
    const each = Math.floor(items.length / parts);
    const longer = items.length % parts;
    for (let part = 0, from = 0; part < parts; part++) {
      const to = from + each + (part < longer ? 1 : 0);
      meter.hold(to - from + 1);
      const row = items.slice(from, to);
      yield fill === null || part < longer ? row : [...row, fill];
      from = to;
    }
  });
}

const map: Filter = ([value, ...args], named, context) => {
  const { meter } = context;
  return lazy(function* () {
    if (!isTrue(value!)) return;
    const change = mapping(args, named, context);
    for (const item of iterate(value!, meter)) yield change(item);
  });
};

function mapping(
  args: Args,
  named: ReadonlyMap<string, Value>,
  context: FilterContext,
): (item: Value) => Value {
  const attribute = named.get('attribute');
  if (args.length === 0 && attribute !== undefined) {
    const other = [...named.keys()].find((name) => name !== 'attribute' && name !== 'default');
    if (other !== undefined) throw typeError(`Unexpected keyword argument '${other}'`);
    return pathReader(attribute, context.meter, named.get('default') ?? null);
  }
  const [name, ...rest] = args;
  if (name === undefined) throw typeError('map requires a filter argument');
  return (item) => context.filter(name, item, rest, named);
}

/** Implements select, reject, selectattr and rejectattr. */
function selecting(wanted: boolean, byAttribute: boolean): Filter {
  return ([value, ...args], named, context) =>
    lazy(function* () {
      if (!isTrue(value!)) return;
      const [attribute, ...others] = args;
      if (byAttribute && attribute === undefined) throw typeError('Missing parameter for attribute name');
      const read = byAttribute ? pathReader(attribute!, context.meter) : (item: Value) => item;
      const [name, ...rest] = byAttribute ? others : args;
      for (const item of iterate(value!, context.meter)) {
        const part = read(item);
        const holds = name === undefined ? isTrue(part) : context.test(name, part, rest, named);
        if (holds === wanted) yield item;
      }
    });
}

function random([value]: Args, { meter }: FilterContext): Value {
  const length = requireLength(value!, meter);
  if (length === 0) return new Undefined('No random item, sequence was empty.');
  return element(value!, Math.floor(Math.random() * length), meter);
}

const length = ([value]: Args, { meter }: FilterContext): Value => requireLength(value!, meter);
const usualValue = ([value, usual, boolean]: Args): Value =>
  value instanceof Undefined || (isTrue(boolean!) && !isTrue(value!)) ? usual! : value!;

export const SEQUENCE_FILTERS: readonly [string, Filter][] = [
  ['map', map],
  ['select', selecting(true, false)],
  ['reject', selecting(false, false)],
  ['selectattr', selecting(true, true)],
  ['rejectattr', selecting(false, true)],
  ...filterTable({
    'sort(value, reverse=false, case_sensitive=false, attribute=null)': sort,
    'min(value, case_sensitive=false, attribute=null)': (args, context) => extreme(args, '<', context),
    'max(value, case_sensitive=false, attribute=null)': (args, context) => extreme(args, '>', context),
    'unique(value, case_sensitive=false, attribute=null)': unique,
    'groupby(value, attribute, default=null, case_sensitive=false)': groupBy,
    'dictsort(value, case_sensitive=false, by="key", reverse=false)': dictSort,
    'items(value)': items,
    'first(seq)': first,
    'last(seq)': last,
    'reverse(value)': reverse,
    'random(seq)': random,
    'list(value)': ([value], { meter }) => listOf(value!, meter),
    'length(obj, /)': length,
    'count(obj, /)': length,
    'sum(iterable, attribute=null, start=0)': sum,
    'batch(value, linecount, fill_with=null)': batch,
    'slice(value, slices, fill_with=null)': slices,
    'default(value, default_value="", boolean=false)': usualValue,
    'd(value, default_value="", boolean=false)': usualValue,
    'attr(obj, name)': ([value, name], { meter }) => attributeOnly(value!, requireText(name!, meter), meter),
  }),
];

function items([value]: Args): Value {
  return lazy(function* () {
    if (value instanceof Undefined) return;
    if (!(value instanceof Dict)) throw typeError('Can only get item pairs from a mapping.');
    yield* value.items();
  });
}
