// Numbers in the forms that %-formats and format specifications share: e, f, g, and digits in groups.

import { fixed, MOST_DECIMALS } from './decimal.ts';
import { valueError } from './failure.ts';

export type RealForm = 'e' | 'f' | 'g';

/** `value` without its sign, with `precision` digits; `alternate` keeps the point and, of g, the zeros behind it. */
export function formatReal(value: number, form: RealForm, precision: number, alternate = false): string {
  const size = Math.abs(value);
  if (Number.isNaN(size)) return 'nan';
  if (size === Infinity) return 'inf';
  if (precision > MOST_DECIMALS) throw valueError(`precision ${precision} is above ${MOST_DECIMALS}`);
  if (form === 'f') return pointed(fixed(size, precision), alternate);
  if (form === 'e') return exponential(size, precision, alternate);
  const digits = Math.max(1, precision);
  const exponent = Number(size.toExponential(digits - 1).split('e')[1]);
  if (exponent < -4 || exponent >= digits) {
    const text = exponential(size, digits - 1, alternate);
    return alternate ? text : text.replace(/\.?0*e/, 'e');
  }
  const text = fixed(size, digits - 1 - exponent);
  if (alternate) return pointed(text, true);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function pointed(text: string, alternate: boolean): string {
  return alternate && !text.includes('.') ? `${text}.` : text;
}

function exponential(size: number, decimals: number, alternate: boolean): string {
  const [mantissa = '', power = '0'] = size.toExponential(decimals).split('e');
  const exponent = Number(power);
  const digits = String(Math.abs(exponent)).padStart(2, '0');
  return `${pointed(mantissa, alternate)}e${exponent < 0 ? '-' : '+'}${digits}`;
}

/** Digits with `separator` between groups of `size`, before the point only. */
export function grouped(text: string, separator: string, size = 3): string {
  const end = /[.e]/.exec(text)?.index ?? text.length;
  const whole = text.slice(0, end);
  const parts: string[] = [];
  for (let stop = whole.length; stop > 0; stop -= size)
    parts.unshift(whole.slice(Math.max(0, stop - size), stop));
  return parts.join(separator) + text.slice(end);
}
