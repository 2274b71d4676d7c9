// Filters that make numbers, or text of numbers.

import { calculate } from '../operators/arithmetic.ts';
import { fixed, rounded } from '../values/decimal.ts';
import { TemplateFailure, typeError } from '../values/failure.ts';
import { filterTable, type Filter, type FilterContext } from './filter.ts';
import { isTrue } from '../values/iterate.ts';
import { requireInt, toInt, toReal } from '../values/numbers.ts';
import { Float, isInt, narrowInt, typeName, type Value } from '../values/values.ts';

type Args = readonly Value[];

function toIntOr([value, usual, base]: Args, { meter }: FilterContext): Value {
  try {
    return toInt(value!, requireInt(base!), meter);
  } catch (error) {
    if (!isConversion(error)) throw error;
  }
  try {
    return toInt(new Float(toReal(value!, meter)), 10, meter);
  } catch (error) {
    if (!isConversion(error) && !(error instanceof TemplateFailure && error.kind === 'OverflowError'))
      throw error;
    return usual!;
  }
}

function toRealOr([value, usual]: Args, { meter }: FilterContext): Value {
  try {
    return new Float(toReal(value!, meter));
  } catch (error) {
    if (!isConversion(error)) throw error;
    return usual ?? new Float(0);
  }
}

function isConversion(error: unknown): boolean {
  return error instanceof TemplateFailure && (error.kind === 'TypeError' || error.kind === 'ValueError');
}

function absolute([value]: Args): Value {
  if (value instanceof Float) return new Float(Math.abs(value.value));
  if (!isInt(value!)) throw typeError(`bad operand type for abs(): '${typeName(value!)}'`);
  const whole = BigInt(value);
  return narrowInt(whole < 0n ? -whole : whole);
}

function round([value, precision, method]: Args, { meter }: FilterContext): Value {
  const decimals = requireInt(precision!);
  if (method !== 'common' && method !== 'ceil' && method !== 'floor')
    throw new TemplateFailure('TypeError', 'method must be common, ceil or floor');
  if (method === 'common') return rounded(value!, decimals);
  const unit = 10 ** decimals;
  const scaled = toReal(calculate('*', value!, decimals < 0 ? new Float(unit) : unit, meter), meter);
  return new Float((method === 'ceil' ? Math.ceil(scaled) : Math.floor(scaled)) / unit);
}

const UNITS = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];

function fileSize([value, binary]: Args, { meter }: FilterContext): Value {
  const bytes = toReal(value!, meter);
  const isBinary = isTrue(binary!);
  const base = isBinary ? 1024 : 1000;
  if (bytes === 1) return '1 Byte';
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const suffix = isBinary ? 'iB' : 'B';
  const at = UNITS.findIndex((_, power) => bytes < base ** (power + 2));
  const power = at < 0 ? UNITS.length - 1 : at;
  const unit = isBinary ? UNITS[power]!.toUpperCase() : UNITS[power]!;
  return `${fixed((base * bytes) / base ** (power + 2), 1)} ${unit}${suffix}`;
}

export const NUMBER_FILTERS: readonly [string, Filter][] = filterTable({
  'int(value, default=0, base=10)': toIntOr,
  'float(value, default=null)': toRealOr,
  'abs(x, /)': absolute,
  'round(value, precision=0, method="common")': round,
  'filesizeformat(value, binary=false)': fileSize,
});
