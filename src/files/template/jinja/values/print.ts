// Values as text: str() and repr().

import { Dict, DictView, Namespace } from './dict.ts';
import { fixed } from './decimal.ts';
import type { Meter } from './meter.ts';
import { Callable, Float, isList, Lazy, Markup, Range, Tuple, Undefined, type Value } from './values.ts';

/** The value as str() and `{{ }}` print it. */
export function printed(value: Value, meter: Meter): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (value === null) return 'None';
  if (value instanceof Undefined) return '';
  if (value instanceof Markup) return value.text;
  if (value instanceof Dict && value.sourceText !== null) return value.sourceText;
  return shown(value, meter);
}

/** The value as repr() prints it; with `sortsKeys`, as pprint() prints a value that fits a line. */
export function shown(value: Value, meter: Meter, sortsKeys = false): string {
  const writer = new Writer(meter, sortsKeys);
  writer.value(value);
  return writer.text;
}

/** Text that grows; the meter hears of it as it does, since a list that holds itself often is longer than it looks. */
class Writer {
  text = '';
  readonly #meter: Meter;
  readonly #sortsKeys: boolean;

  constructor(meter: Meter, sortsKeys: boolean) {
    this.#meter = meter;
    this.#sortsKeys = sortsKeys;
  }

  add(piece: string): void {
    this.#meter.make(this.text.length + piece.length, piece.length);
    this.text += piece;
  }

  value(value: Value): void {
    this.#meter.step();
    if (isList(value)) this.#series('[', value, ']');
    else if (value instanceof Tuple) this.#series('(', value.items, value.items.length === 1 ? ',)' : ')');
    else if (value instanceof Dict) this.#dict(value);
    else if (value instanceof DictView) {
      this.add(`${value.typeName}(`);
      this.#series('[', value.elements(), '])');
    } else if (value instanceof Namespace) {
      this.add('<Namespace ');
      this.#dict(value.members);
      this.add('>');
    } else this.add(shownScalar(value));
  }

  #series(open: string, items: Iterable<Value>, close: string): void {
    this.add(open);
    let first = true;
    for (const item of items) {
      if (!first) this.add(', ');
      first = false;
      this.value(item);
    }
    this.add(close);
  }

  #dict(dict: Dict): void {
    this.add('{');
    let first = true;
    const pairs = [...dict.pairs()];
    if (this.#sortsKeys) pairs.sort((a, b) => (keyText(a.key) < keyText(b.key) ? -1 : 1));
    for (const { key, value } of pairs) {
      if (!first) this.add(', ');
      first = false;
      this.value(key);
      this.add(': ');
      this.value(value);
    }
    this.add('}');
  }
}

const keyText = (key: Value): string => (typeof key === 'string' ? key : shownScalar(key));

function shownScalar(value: Value): string {
  if (typeof value === 'string') return shownText(value);
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Float) return shownFloat(value.value);
  if (value instanceof Markup) return `Markup(${shownText(value.text)})`;
  if (value instanceof Range) {
    const { start, stop, step } = value;
    return `range(${start}, ${stop}${step === 1 ? '' : `, ${step}`})`;
  }
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Callable) return value.shown;
  if (value instanceof Lazy) return `<${value.typeName} object>`;
  return isList(value) ? '[...]' : `<${value.typeName} object>`;
}

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };
/** Characters that str.isprintable refuses, and the backslash. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\\]|(?! )\p{Zs}/gu;

export function isPrintable(text: string): boolean {
  return !text.replaceAll('\\', '').match(UNPRINTABLE);
}

/** A string literal that Python reads back. */
export function shownText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replace(UNPRINTABLE, (char) => ESCAPES[char] ?? escaped(char.codePointAt(0)!));
  return quote + (quote === "'" ? body.replaceAll("'", "\\'") : body) + quote;
}

/** The output of repr() with characters escaped as by ascii(). */
export function asciiOf(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, (char) => escaped(char.codePointAt(0)!));
}

function escaped(code: number): string {
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** The shortest digits that read back as the same number, with an exponent below 1e-4 and from 1e16 on. */
export function shownFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const [digits = '', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const sign = exponent < 0 ? '-' : '+';
    return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  const decimals = Math.max(1, digits.replace(/^-?\d\.?/, '').length - exponent);
  return fixed(value, decimals);
}
