// Methods of Markup: those of str, whose results are Markup again and whose text arguments are escaped.

import { Dict } from '../values/dict.ts';
import { escapeMarkup, stripTags } from '../values/markup.ts';
import type { Meter } from '../values/meter.ts';
import { Callable, isList, isText, Markup, NativeFunction, Tuple, type Value } from '../values/values.ts';

/** Methods whose text arguments become a part of the result. */
const TAKES_TEXT = new Set('replace join format format_map ljust rjust center'.split(' '));

/** `ofText`: the member of the text. */
export function markupMember(
  markup: Markup,
  name: string,
  ofText: (text: string) => Value | undefined,
  meter: Meter,
): Value | undefined {
  if (name === 'striptags') return new NativeFunction(name, () => stripTags(markup, meter));
  const found = ofText(markup.text);
  if (!(found instanceof Callable)) return found;
  const escape = (value: Value): Value => escaped(value, meter);
  return new NativeFunction(name, (args, named) => {
    if (!TAKES_TEXT.has(name)) return wrapped(found.call(args, named));
    // Only the new text of replace() is escaped.
    const taken =
      name === 'replace' ? args.map((arg, at) => (at === 1 ? escape(arg) : arg)) : args.map(escape);
    return wrapped(found.call(taken, new Map([...named].map(([key, value]) => [key, escape(value)]))));
  });
}

function escaped(value: Value, meter: Meter): Value {
  if (isText(value)) return escapeMarkup(value, meter).text;
  if (isList(value)) return value.map((item) => escaped(item, meter));
  if (value instanceof Tuple) return new Tuple(value.items.map((item) => escaped(item, meter)));
  if (!(value instanceof Dict)) return value;
  const copy = new Dict();
  for (const { key, value: item } of value.pairs()) copy.set(key, escaped(item, meter), meter);
  return copy;
}

function wrapped(value: Value): Value {
  if (typeof value === 'string') return new Markup(value);
  if (isList(value)) return value.map(wrapped);
  return value instanceof Tuple ? new Tuple(value.items.map(wrapped)) : value;
}
