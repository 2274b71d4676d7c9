// Exact decimals, digits × 10^exponent, for multipleOf and the digits of bounds. A number of a schema stands for its shortest decimal
// spelling, as JSON.stringify writes it.

export interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

export function decimalOf(value: number): Decimal {
  const [mantissa = '0', power = '0'] = String(value).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return reduce({ digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length });
}

/** An equal decimal without trailing zeros in its digits. */
function reduce({ digits, exponent }: Decimal): Decimal {
  if (digits === 0n) return { digits, exponent: 0 };
  let [left, power] = [digits, exponent];
  while (left % 10n === 0n) {
    left /= 10n;
    power++;
  }
  return { digits: left, exponent: power };
}

/** Integers for both numbers in units of a common power of ten, and its exponent. */
function align(a: Decimal, b: Decimal): [bigint, bigint, number] {
  const exponent = Math.min(a.exponent, b.exponent);
  return [
    a.digits * 10n ** BigInt(a.exponent - exponent),
    b.digits * 10n ** BigInt(b.exponent - exponent),
    exponent,
  ];
}

export function isMultiple(value: Decimal, step: Decimal): boolean {
  const [a, b] = align(value, step);
  return a % b === 0n;
}

/** Whether a multiple of the step lies within the bounds. */
export function hasMultiple(min: number, max: number, step: Decimal): boolean {
  if (min <= 0 && max >= 0) return true;
  if (min < 0) return hasMultiple(-max, -min, step);
  if (max === Infinity) return true;
  const [low, each, exponent] = align(decimalOf(min), step);
  const first = { digits: ((low + each - 1n) / each) * each, exponent };
  const [a, b] = align(first, decimalOf(max));
  return a <= b;
}

/** The smallest positive number that is a multiple of both. */
export function leastCommonMultiple(a: Decimal, b: Decimal): Decimal {
  const [x, y, exponent] = align(a, b);
  return reduce({ digits: (x / greatestCommonDivisor(x, y)) * y, exponent });
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

/** The digits of a finite number's magnitude before and after the point, without an exponent and without redundant zeros. */
export function plainDigits(value: number): { whole: string; fraction: string } {
  const { digits, exponent } = decimalOf(Math.abs(value));
  if (exponent >= 0) return { whole: String(digits) + '0'.repeat(exponent), fraction: '' };
  const padded = String(digits).padStart(1 - exponent, '0');
  const cut = padded.length + exponent;
  return { whole: padded.slice(0, cut), fraction: padded.slice(cut) };
}

/** The next larger double. */
export function nextAbove(value: number): number {
  if (!Number.isFinite(value)) return value;
  if (value === 0) return Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return view.getFloat64(0);
}

/** The next smaller double. */
export const nextBelow = (value: number): number => -nextAbove(-value);
