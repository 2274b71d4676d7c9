// + - * / // % ** and the signs, with Python's types: int and float stay apart, `//` and `%` round down, an int has any size.

import { TemplateFailure, typeError } from '../values/failure.ts';
import { listOf } from '../values/iterate.ts';
import { escapeMarkup } from '../values/markup.ts';
import type { Meter } from '../values/meter.ts';
import { formatPercent } from './percent-format.ts';
import { printed } from '../values/print.ts';
import type { ArithmeticOperator } from '../syntax/syntax.ts';
import { Dict } from '../values/dict.ts';
import {
  Float,
  isInt,
  isList,
  isText,
  Markup,
  narrowInt,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from '../values/values.ts';

export function calculate(operator: ArithmeticOperator, left: Value, right: Value, meter: Meter): Value {
  if (typeof left === 'number' && typeof right === 'number') {
    const quick = quickResult(operator, left, right);
    if (quick !== null) return quick;
  }
  if (operator === '+' && typeof left === 'string' && typeof right === 'string')
    return joined(left, right, meter);
  if (operator === '%' && isText(left)) return formatted(left, right, meter);
  if (left instanceof Undefined) return left.raise();
  if (right instanceof Undefined) return right.raise();
  const result = numeric(operator, left, right, meter) ?? ofSeries(operator, left, right, meter);
  if (result === null) {
    const named = operator === '**' ? '** or pow()' : operator;
    throw typeError(
      operator === '+' && isText(left)
        ? `can only concatenate str (not "${typeName(right)}") to str`
        : `unsupported operand type(s) for ${named}: '${typeName(left)}' and '${typeName(right)}'`,
    );
  }
  return result;
}

function quickResult(operator: ArithmeticOperator, a: number, b: number): number | null {
  let result: number;
  if (operator === '+') result = a + b;
  else if (operator === '-') result = a - b;
  else if (operator === '*') result = a * b;
  else if (operator === '//' && b !== 0) result = Math.floor(a / b);
  else if (operator === '%' && b !== 0) result = a - b * Math.floor(a / b);
  else return null;
  return Number.isSafeInteger(result) && Math.abs(a) < 2 ** 31 ? result + 0 : null;
}

function joined(left: string, right: string, meter: Meter): string {
  // Long strings are joined without copying the longer part.
  meter.make(left.length + right.length, Math.min(left.length, right.length));
  return left + right;
}

function formatted(left: string | Markup, right: Value, meter: Meter): Value {
  if (typeof left === 'string') return formatPercent(left, right, meter);
  return new Markup(formatPercent(left.text, right, meter, (text) => escapeMarkup(text, meter).text));
}

/** Computes with two numbers; null if one is not a number. */
function numeric(operator: ArithmeticOperator, left: Value, right: Value, meter: Meter): Value | null {
  if (isInt(left) && isInt(right)) return ofInts(operator, BigInt(left), BigInt(right), meter);
  const a = realOf(left);
  const b = realOf(right);
  return a === null || b === null ? null : new Float(ofReals(operator, a, b));
}

function realOf(value: Value): number | null {
  if (value instanceof Float) return value.value;
  return isInt(value) ? Number(value) : null;
}

function bitsOf(value: bigint): number {
  return value.toString(16).length * 4;
}

function ofInts(operator: ArithmeticOperator, a: bigint, b: bigint, meter: Meter): Value {
  switch (operator) {
    case '+':
      return narrowInt(a + b);
    case '-':
      return narrowInt(a - b);
    case '*':
      meter.widen(bitsOf(a) + bitsOf(b));
      return narrowInt(a * b);
    case '/':
      return new Float(ofReals('/', Number(a), Number(b)));
    case '//':
      return narrowInt(floorDivide(a, b));
    case '%':
      return narrowInt(a - b * floorDivide(a, b));
    case '**':
      if (b < 0n) return new Float(ofReals('**', Number(a), Number(b)));
      if (a > 1n || a < -1n) meter.widen(bitsOf(a) * Number(b));
      return narrowInt(a > 1n || a < -1n ? a ** b : a === -1n && b % 2n === 0n ? 1n : b === 0n ? 1n : a);
  }
}

function floorDivide(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new TemplateFailure('ZeroDivisionError', 'integer division or modulo by zero');
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

function ofReals(operator: ArithmeticOperator, a: number, b: number): number {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '**':
      return power(a, b);
    default:
  }
  if (b === 0)
    throw new TemplateFailure(
      'ZeroDivisionError',
      operator === '/'
        ? 'division by zero'
        : `float ${operator === '%' ? 'modulo' : 'floor division by zero'}`,
    );
  if (operator === '/') return a / b;
  const rest = a % b;
  const modulo = rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
  return operator === '%' ? modulo : Math.round((a - modulo) / b);
}

function power(a: number, b: number): number {
  if (a === 0 && b < 0)
    throw new TemplateFailure('ZeroDivisionError', '0.0 cannot be raised to a negative power');
  if (a < 0 && !Number.isInteger(b))
    throw new TemplateFailure('TypeError', 'a complex number, the result of **, is not supported');
  const result = a ** b;
  if (!Number.isFinite(result) && Number.isFinite(a) && Number.isFinite(b))
    throw new TemplateFailure('OverflowError', "(34, 'Numerical result out of range')");
  // pow(1, NaN) is 1 in C and NaN in JavaScript.
  return a === 1 ? 1 : result;
}

/** `+` of two lists, tuples or texts, and `*` of one and an int; null for other operands. */
function ofSeries(operator: ArithmeticOperator, left: Value, right: Value, meter: Meter): Value | null {
  if (operator === '*') {
    if (isInt(right)) return repeated(left, Number(right), meter);
    return isInt(left) ? repeated(right, Number(left), meter) : null;
  }
  if (operator !== '+') return null;
  if (isList(left) && isList(right)) return together(left, right, meter);
  if (left instanceof Tuple && right instanceof Tuple)
    return new Tuple(together(left.items, right.items, meter));
  if (left instanceof Markup || right instanceof Markup) {
    if (!isText(left) || !isText(right)) return null;
    return new Markup(joined(escapeMarkup(left, meter).text, escapeMarkup(right, meter).text, meter));
  }
  const first = asText(left, meter);
  const second = asText(right, meter);
  return first === null || second === null ? null : joined(first, second, meter);
}

/** Returns a text, or a dict that a client sent as text; null otherwise. */
function asText(value: Value, meter: Meter): string | null {
  if (isText(value)) return printed(value, meter);
  return value instanceof Dict ? value.sourceText : null;
}

function together(left: readonly Value[], right: readonly Value[], meter: Meter): Value[] {
  meter.hold(left.length + right.length);
  return [...left, ...right];
}

function repeated(value: Value, times: number, meter: Meter): Value | null {
  const count = Math.max(0, times);
  if (isText(value)) {
    const text = printed(value, meter);
    meter.make(text === '' ? 0 : text.length * count);
    const result = text.repeat(text === '' ? 0 : count);
    return value instanceof Markup ? new Markup(result) : result;
  }
  if (!isList(value) && !(value instanceof Tuple)) return null;
  const items = listOf(value, meter);
  meter.hold(items.length === 0 ? 0 : items.length * count);
  const result: Value[] = [];
  for (let at = 0; items.length > 0 && at < count; at++) result.push(...items);
  return value instanceof Tuple ? new Tuple(result) : result;
}

/** `-value` or `+value`. */
export function signed(sign: '-' | '+', value: Value): Value {
  if (value instanceof Undefined) return value.raise();
  if (value instanceof Float) return sign === '-' ? new Float(-value.value) : value;
  if (!isInt(value)) throw typeError(`bad operand type for unary ${sign}: '${typeName(value)}'`);
  const whole = BigInt(value);
  return narrowInt(sign === '-' ? -whole : whole);
}
