// Format specifications: what stands behind the colon in '{:>8.2f}'.

import { countPoints, unitIndex } from './code-points.ts';
import { typeError, valueError } from './failure.ts';
import { formatReal, grouped, type RealForm } from './format-number.ts';
import type { Meter } from './meter.ts';
import { printed, shownFloat } from './print.ts';
import { Float, isInt, isText, typeName, type Value } from './values.ts';

interface Spec {
  fill: string;
  align: string;
  sign: string;
  alternate: boolean;
  zeros: boolean;
  width: number;
  group: string;
  precision: number | null;
  type: string;
}

const SPEC = /^(?:([\s\S])?([<>=^]))?([-+ ])?z?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/u;

export function formatSpec(value: Value, text: string, meter: Meter): string {
  if (text === '') return printed(value, meter);
  const match = SPEC.exec(text);
  if (!match) throw valueError(`Invalid format specifier '${text}' for object of type '${typeName(value)}'`);
  const [, fill, align = '', sign = '', alternate, zeros, width, group = '', precision, type = ''] = match;
  const spec: Spec = {
    fill: fill ?? (zeros === undefined ? ' ' : '0'),
    align,
    sign,
    alternate: alternate !== undefined,
    zeros: zeros !== undefined,
    width: Number(width ?? 0),
    group,
    precision: precision === undefined ? null : Number(precision),
    type,
  };
  meter.make(spec.width);
  if (isText(value)) return formatText(printed(value, meter), spec);
  if (isInt(value) && (typeof value !== 'boolean' || type !== ''))
    return 'eEfFgG%'.includes(type) && type !== ''
      ? formatFloat(Number(value), spec)
      : formatInt(BigInt(value), spec);
  if (typeof value === 'boolean') return formatInt(BigInt(value), spec);
  if (value instanceof Float) return formatFloat(value.value, spec);
  throw typeError(`unsupported format string passed to ${typeName(value)}.__format__`);
}

function unknownType(type: string, of: string): Error {
  return valueError(`Unknown format code '${type}' for object of type '${of}'`);
}

function formatText(text: string, spec: Spec): string {
  const { type, sign, align, precision } = spec;
  if (type !== '' && type !== 's') throw unknownType(type, 'str');
  if (sign) throw valueError('Sign not allowed in string format specifier');
  if (align === '=') throw valueError("'=' alignment not allowed in string format specifier");
  const cut = precision === null ? text : text.slice(0, unitIndex(text, precision));
  return aligned('', cut, spec, '<');
}

const RADIX: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16, d: 10, n: 10, '': 10 };

function formatInt(value: bigint, spec: Spec): string {
  const { type, alternate, group, precision } = spec;
  if (precision !== null) throw valueError('Precision not allowed in integer format specifier');
  if (type === 'c') return aligned('', String.fromCodePoint(Number(value)), spec, '<');
  const radix = RADIX[type];
  if (radix === undefined) throw unknownType(type, 'int');
  const digits = (value < 0n ? -value : value).toString(radix);
  const cased = type === 'X' ? digits.toUpperCase() : digits;
  const prefix = alternate && radix !== 10 ? `0${type}` : '';
  const text = group ? grouped(cased, group, radix === 10 ? 3 : 4) : cased;
  return aligned(signOf(value < 0n, spec) + prefix, text, spec, '>');
}

function formatFloat(value: number, spec: Spec): string {
  const { type, precision, alternate, group } = spec;
  const isNegative = value < 0 || Object.is(value, -0);
  let text: string;
  if (type === '' && precision === null) text = shownFloat(Math.abs(value));
  else if (type === '') text = generalWithPoint(value, precision ?? 6);
  else if (type === '%') text = `${formatReal(value * 100, 'f', precision ?? 6, alternate)}%`;
  else if ('eEfFgGn'.includes(type)) {
    const form = type === 'n' ? 'g' : (type.toLowerCase() as RealForm);
    text = formatReal(value, form, precision ?? 6, alternate);
    if (type !== form && type !== 'n') text = text.toUpperCase();
  } else throw unknownType(type, 'float');
  return aligned(signOf(isNegative, spec), group ? grouped(text, group) : text, spec, '>');
}

/** Format g with at least one digit behind the point. */
function generalWithPoint(value: number, precision: number): string {
  const text = formatReal(value, 'g', precision);
  return /[.en]/.test(text) ? text : `${text}.0`;
}

function signOf(isNegative: boolean, { sign }: Spec): string {
  if (isNegative) return '-';
  return sign === '-' ? '' : sign;
}

function aligned(head: string, text: string, { fill, align, zeros, width }: Spec, usual: string): string {
  const missing = width - countPoints(text) - head.length;
  if (missing <= 0) return head + text;
  const side = align || (zeros && usual === '>' ? '=' : usual);
  if (side === '<') return head + text + fill.repeat(missing);
  if (side === '>') return fill.repeat(missing) + head + text;
  if (side === '=') return head + fill.repeat(missing) + text;
  const left = Math.floor(missing / 2);
  return fill.repeat(left) + head + text + fill.repeat(missing - left);
}
