// int() and float() of numbers and texts, and arguments that must be numbers.

import { stripEnds } from './code-points.ts';
import { truncated } from './decimal.ts';
import { typeError, valueError } from './failure.ts';
import type { Meter } from './meter.ts';
import { printed, shownText } from './print.ts';
import { Float, isInt, isText, narrowInt, typeName, Undefined, type Value } from './values.ts';

/** Python's int(value) or int(text, base). */
export function toInt(value: Value, base: number, meter: Meter): number | bigint {
  if (value instanceof Undefined) return value.raise();
  if (value instanceof Float) return truncated(value.value);
  if (isInt(value)) return typeof value === 'boolean' ? Number(value) : value;
  if (!isText(value))
    throw typeError(
      `int() argument must be a string, a bytes-like object or a real number, not '${typeName(value)}'`,
    );
  const text = printed(value, meter);
  meter.read(text.length);
  const parsed = parseInteger(stripEnds(text, 'both'), base, meter);
  if (parsed === null) throw valueError(`invalid literal for int() with base ${base}: ${shownText(text)}`);
  return parsed;
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
const PREFIXES: Readonly<Record<string, number>> = { '0b': 2, '0o': 8, '0x': 16 };

function parseInteger(text: string, base: number, meter: Meter): number | bigint | null {
  if (base !== 0 && (base < 2 || base > 36)) throw valueError('int() base must be >= 2 and <= 36, or 0');
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  let body = plainDigits(text.slice(sign.length)).toLowerCase();
  const prefix = PREFIXES[body.slice(0, 2)];
  let radix = base;
  if (prefix !== undefined && (base === 0 || base === prefix)) {
    radix = prefix;
    body = body.slice(2).replace(/^_/, '');
  } else if (base === 0) {
    if (/^0[\d_]*[1-9]/.test(body)) return null;
    radix = 10;
  }
  if (!/^[\da-z]+(_[\da-z]+)*$/.test(body)) return null;
  const digits = body.replaceAll('_', '');
  meter.widen(digits.length * Math.log2(radix));
  let value = 0n;
  for (const digit of digits) {
    const number = DIGITS.indexOf(digit);
    if (number >= radix) return null;
    value = value * BigInt(radix) + BigInt(number);
  }
  return narrowInt(sign === '-' ? -value : value);
}

/** Decimal digits of other scripts as ASCII ones. They come in runs of ten, each run from its zero on. */
function plainDigits(text: string): string {
  return text.replace(/(?![0-9])\p{Nd}/gu, (char) => {
    const code = char.codePointAt(0)!;
    let zero = code;
    while (zero > code - 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
    return String((code - zero) % 10);
  });
}

const REAL =
  /^[-+]?(?:(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[-+]?\d+(?:_\d+)*)?|inf|infinity|nan)$/i;

/** Python's float(value). */
export function toReal(value: Value, meter: Meter): number {
  if (value instanceof Undefined) return value.raise();
  if (value instanceof Float) return value.value;
  if (isInt(value)) return Number(value);
  if (!isText(value))
    throw typeError(`float() argument must be a string or a real number, not '${typeName(value)}'`);
  const given = printed(value, meter);
  meter.read(given.length);
  const text = plainDigits(stripEnds(given, 'both'));
  if (!REAL.test(text)) throw valueError(`could not convert string to float: ${shownText(given)}`);
  const plain = text.replaceAll('_', '').toLowerCase();
  if (plain.endsWith('nan')) return NaN;
  if (plain.includes('inf')) return plain.startsWith('-') ? -Infinity : Infinity;
  return Number(plain);
}

/** An argument that Python takes as an index or a count. */
export function requireInt(value: Value): number {
  if (value instanceof Undefined) return value.raise();
  if (!isInt(value)) throw typeError(`'${typeName(value)}' object cannot be interpreted as an integer`);
  return Number(value);
}

export function requireText(value: Value, meter: Meter, what = 'argument'): string {
  if (value instanceof Undefined) return value.raise();
  if (!isText(value)) throw typeError(`${what} must be str, not ${typeName(value)}`);
  return printed(value, meter);
}
