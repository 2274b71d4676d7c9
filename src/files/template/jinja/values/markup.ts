// HTML escapes, as markupsafe writes them.

import type { Meter } from './meter.ts';
import { printed } from './print.ts';
import { Markup, type Value } from './values.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
};

/** Escapes a value for HTML; a Markup value is returned unchanged. */
export function escapeMarkup(value: Value, meter: Meter): Markup {
  if (value instanceof Markup) return value;
  const text = printed(value, meter);
  meter.make(text.length * 2);
  return new Markup(text.replace(/[&<>'"]/g, (char) => ENTITIES[char]!));
}

const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', '\xa0'],
]);

/** The text without comments and tags, with runs of white space as one blank and entities as characters. */
export function stripTags(value: Value, meter: Meter): string {
  let text = printed(value, meter);
  meter.read(text.length);
  text = withoutPairs(withoutPairs(text, '<!--', '-->'), '<', '>');
  const plain = text.trim().split(/\s+/u).join(' ');
  return plain.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED.get(String(name)) ?? whole;
    const code = decimal === undefined ? parseInt(String(hex), 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

function withoutPairs(text: string, open: string, close: string): string {
  let kept = '';
  let from = 0;
  for (;;) {
    const start = text.indexOf(open, from);
    const end = start < 0 ? -1 : text.indexOf(close, start);
    if (end < 0) return kept + text.slice(from);
    kept += text.slice(from, start);
    from = end + close.length;
  }
}
