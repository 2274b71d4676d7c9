// Numbers rounded to decimals as Python rounds them: by their exact value, and ties to the even digit.

import { TemplateFailure, typeError } from './failure.ts';
import { Float, isInt, narrowInt, typeName, Undefined, type Value } from './values.ts';

/** Most decimals: a tie of a finite number shows within them. */
export const MOST_DECIMALS = 75;

/** `value` with `decimals` (0 to MOST_DECIMALS) digits behind the point; without a point for 0. */
export function fixed(value: number, decimals: number): string {
  if (Math.abs(value) >= 1e21) {
    const digits = BigInt(value).toString();
    return decimals > 0 ? `${digits}.${'0'.repeat(decimals)}` : digits;
  }
  // toFixed rounds by the exact value, and ties away from zero.
  const text = value.toFixed(decimals);
  const exact = value.toFixed(decimals + 25);
  const tail = exact.slice(exact.length - 25 - (decimals === 0 ? 1 : 0)).replace('.', '');
  const body = Object.is(value, -0) ? `-${text}` : text;
  if (!/^50*$/.test(tail)) return body;
  const floor = decimals === 0 ? exact.slice(0, exact.indexOf('.')) : exact.slice(0, -25);
  return Number(floor.at(-1)) % 2 === 0 ? floor : text;
}

/** round() to a number of decimals, negative ones included. An int stays one. */
export function rounded(value: Value, decimals: number): Value {
  if (value instanceof Undefined) return value.raise();
  if (isInt(value)) {
    if (decimals >= 0) return typeof value === 'boolean' ? Number(value) : value;
    const unit = 10n ** BigInt(Math.min(-decimals, 400));
    const whole = BigInt(value);
    const rest = ((whole % unit) + unit) % unit;
    const floor = whole - rest;
    const isUp = rest * 2n > unit || (rest * 2n === unit && (floor / unit) % 2n !== 0n);
    return narrowInt(isUp ? floor + unit : floor);
  }
  if (!(value instanceof Float)) throw typeError(`type ${typeName(value)} doesn't define __round__ method`);
  const { value: real } = value;
  if (!Number.isFinite(real) || decimals > MOST_DECIMALS) return value;
  if (decimals >= 0) return new Float(Number(fixed(real, decimals)));
  const unit = 10 ** Math.min(-decimals, 400);
  return new Float(unit === Infinity ? 0 : Number(fixed(real / unit, 0)) * unit);
}

/** int() of a float, towards zero. */
export function truncated(value: number): number | bigint {
  if (Number.isNaN(value)) throw new TemplateFailure('ValueError', 'cannot convert float NaN to integer');
  if (!Number.isFinite(value))
    throw new TemplateFailure('OverflowError', 'cannot convert float infinity to integer');
  return narrowInt(BigInt(Math.trunc(value)));
}
