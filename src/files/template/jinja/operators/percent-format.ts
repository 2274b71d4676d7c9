// `text % values`, and the filter format.

import { countPoints, unitIndex } from '../values/code-points.ts';
import { truncated } from '../values/decimal.ts';
import { Dict } from '../values/dict.ts';
import { typeError, valueError } from '../values/failure.ts';
import { formatReal, type RealForm } from '../values/format-number.ts';
import type { Meter } from '../values/meter.ts';
import { asciiOf, printed, shown } from '../values/print.ts';
import { Float, isInt, isList, isText, Tuple, typeName, Undefined, type Value } from '../values/values.ts';

const CONVERSION = /%(?:\(([^)]*)\))?([-#0 +]*)(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?([\s\S])?/g;

interface Conversion {
  flags: string;
  width: number;
  precision: number | null;
  type: string;
}

/** `escape`: for text that Markup takes in. */
export function formatPercent(
  format: string,
  values: Value,
  meter: Meter,
  escape: (text: string) => string = (text) => text,
): string {
  const source = new Values(values);
  let result = '';
  let from = 0;
  const add = (piece: string): void => {
    meter.make(result.length + piece.length, piece.length);
    result += piece;
  };
  for (const match of format.matchAll(CONVERSION)) {
    meter.step();
    const [whole, key, flags = '', width, precision, type] = match;
    add(format.slice(from, match.index));
    from = match.index + whole.length;
    if (type === undefined) throw valueError('incomplete format');
    const wide = width === '*' ? source.integer() : Number(width ?? 0);
    const dotted = whole.includes('.', key === undefined ? 0 : key.length + 2);
    const digits = precision === '*' ? source.integer() : Number(precision ?? 0);
    const conversion: Conversion = {
      flags: wide < 0 ? `${flags}-` : flags,
      width: Math.abs(wide),
      precision: dotted ? Math.max(0, digits) : null,
      type,
    };
    meter.make(Math.max(conversion.width, conversion.precision ?? 0));
    if (type === '%') add('%');
    else add(convert(source.next(key, meter), conversion, meter, escape));
  }
  add(format.slice(from));
  source.finish();
  return result;
}

/** The right side of `%`: a tuple in its order, a dict by key, or one value. */
class Values {
  readonly #given: Value;
  #next = 0;
  #keyed = false;

  constructor(given: Value) {
    this.#given = given;
  }

  next(key: string | undefined, meter: Meter): Value {
    const given = this.#given;
    if (key !== undefined) {
      if (!(given instanceof Dict)) throw typeError('format requires a mapping');
      this.#keyed = true;
      const value = given.get(key, meter);
      if (value === undefined) throw typeError(`KeyError: ${shown(key, meter)}`);
      return value;
    }
    const at = this.#next++;
    const value = given instanceof Tuple ? given.items[at] : at === 0 ? given : undefined;
    if (value === undefined) throw typeError('not enough arguments for format string');
    return value;
  }

  integer(): number {
    const given = this.#given;
    const value = given instanceof Tuple ? given.items[this.#next++] : undefined;
    if (typeof value !== 'number') throw typeError('* wants int');
    return value;
  }

  finish(): void {
    const given = this.#given;
    if (this.#keyed || given instanceof Dict || isList(given)) return;
    const all = given instanceof Tuple ? given.items.length : 1;
    if (this.#next < all) throw typeError('not all arguments converted during string formatting');
  }
}

function convert(
  value: Value,
  conversion: Conversion,
  meter: Meter,
  escape: (text: string) => string,
): string {
  const { type, precision } = conversion;
  if (type === 's' || type === 'r' || type === 'a') {
    const text = type === 's' ? printed(value, meter) : shown(value, meter);
    const plain = type === 'a' ? asciiOf(text) : text;
    const cut = precision === null ? plain : plain.slice(0, unitIndex(plain, precision));
    return padded(
      type === 's' && typeof value !== 'string' && isText(value) ? cut : escape(cut),
      '',
      conversion,
    );
  }
  if (type === 'c')
    return padded(character(value), '', { ...conversion, flags: conversion.flags.replace('0', '') });
  if ('diuxXo'.includes(type)) return formatInteger(value, conversion);
  if ('eEfFgG'.includes(type)) return formatFloat(value, conversion);
  throw valueError(`unsupported format character '${type}'`);
}

function character(value: Value): string {
  if (typeof value === 'string' && countPoints(value) === 1) return value;
  if (typeof value === 'number' && value >= 0 && value <= 0x10ffff) return String.fromCodePoint(value);
  throw typeError('%c requires int or char');
}

function formatInteger(value: Value, conversion: Conversion): string {
  const { type, flags, precision } = conversion;
  if (value instanceof Undefined) return value.raise();
  const decimal = 'diu'.includes(type);
  const whole = isInt(value)
    ? BigInt(value)
    : decimal && value instanceof Float
      ? BigInt(truncated(value.value))
      : null;
  if (whole === null) {
    const wanted = decimal ? 'a real number' : 'an integer';
    throw typeError(`%${type} format: ${wanted} is required, not ${typeName(value)}`);
  }
  const radix = decimal ? 10 : type === 'o' ? 8 : 16;
  const digits = (whole < 0n ? -whole : whole).toString(radix).padStart(precision ?? 0, '0');
  const prefix = flags.includes('#') && !decimal ? (type === 'o' ? '0o' : '0x') : '';
  const text = prefix + digits;
  return padded(type === 'X' ? text.toUpperCase() : text, signOf(whole < 0n, flags), conversion);
}

function formatFloat(value: Value, conversion: Conversion): string {
  const { type, flags, precision } = conversion;
  if (value instanceof Undefined) return value.raise();
  if (!(value instanceof Float) && !isInt(value))
    throw typeError(`must be real number, not ${typeName(value)}`);
  const real = value instanceof Float ? value.value : Number(value);
  const form = type.toLowerCase() as RealForm;
  const text = formatReal(real, form, precision ?? 6, flags.includes('#'));
  const isNegative = real < 0 || Object.is(real, -0);
  const sign = signOf(isNegative, flags);
  const finite = Number.isFinite(real) ? conversion : { ...conversion, flags: flags.replaceAll('0', '') };
  return padded(type === form ? text : text.toUpperCase(), sign, finite);
}

function signOf(isNegative: boolean, flags: string): string {
  if (isNegative) return '-';
  return flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
}

function padded(text: string, sign: string, { flags, width, type }: Conversion): string {
  const missing = width - countPoints(text) - sign.length;
  if (missing <= 0) return sign + text;
  if (flags.includes('-')) return sign + text + ' '.repeat(missing);
  if (!flags.includes('0') || 'src'.includes(type)) return ' '.repeat(missing) + sign + text;
  const prefix = /^0[ox]/i.exec(text)?.[0] ?? '';
  return sign + prefix + '0'.repeat(missing) + text.slice(prefix.length);
}
