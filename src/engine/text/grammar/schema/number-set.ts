// Sets of numbers, closed under intersection, union and complement: intervals whose numbers are, or are not, multiples of
// given steps. Numbers are doubles, so every bound is inclusive: "under 3" ends at the double before 3, and no spelling is
// let through that a reader's rounding would carry to 3.

import {
  decimalOf,
  hasMultiple,
  isMultiple,
  leastCommonMultiple,
  nextAbove,
  nextBelow,
  type Decimal,
} from './decimal.ts';

export interface NumberPiece {
  /** -Infinity and Infinity: no bound. */
  readonly min: number;
  readonly max: number;
  /** All are multiples of it; null: any number. */
  readonly step: Decimal | null;
  /** None is a multiple of one of these. */
  readonly not: readonly Decimal[];
}

/** The union of its pieces; they may overlap. */
export type NumberSet = readonly NumberPiece[];

export const ALL_NUMBERS: NumberSet = [{ min: -Infinity, max: Infinity, step: null, not: [] }];

const ONE = decimalOf(1);

/** A bound at the largest double is none. */
function numbersBetween(min: number, max: number): NumberSet {
  const [low, high] = [
    min <= -Number.MAX_VALUE ? -Infinity : min + 0,
    max >= Number.MAX_VALUE ? Infinity : max + 0,
  ];
  return tidy([{ min: low, max: high, step: null, not: [] }]);
}

export const numbersFrom = (min: number, exclusive: boolean): NumberSet =>
  numbersBetween(exclusive ? nextAbove(min) : min, Infinity);

export const numbersTo = (max: number, exclusive: boolean): NumberSet =>
  numbersBetween(-Infinity, exclusive ? nextBelow(max) : max);

export function multiplesOf(step: number): NumberSet {
  return [{ min: -Infinity, max: Infinity, step: decimalOf(step), not: [] }];
}

export const INTEGERS: NumberSet = multiplesOf(1);

export function oneOfNumbers(values: readonly number[]): NumberSet {
  return tidy(values.map((value) => ({ min: value + 0, max: value + 0, step: null, not: [] })));
}

export function intersectNumbers(a: NumberSet, b: NumberSet): NumberSet {
  if (a === ALL_NUMBERS) return b;
  if (b === ALL_NUMBERS) return a;
  return tidy(
    a.flatMap((x) =>
      b.map((y) => ({
        min: Math.max(x.min, y.min),
        max: Math.min(x.max, y.max),
        step: x.step && y.step ? leastCommonMultiple(x.step, y.step) : (x.step ?? y.step),
        not: [...x.not, ...y.not.filter((step) => !x.not.some((other) => same(step, other)))],
      })),
    ),
  );
}

export function uniteNumbers(a: NumberSet, b: NumberSet): NumberSet {
  return a === ALL_NUMBERS || b === ALL_NUMBERS ? ALL_NUMBERS : tidy([...a, ...b]);
}

export function complementNumbers(set: NumberSet): NumberSet {
  return set.reduce<NumberSet>((left, piece) => intersectNumbers(left, outside(piece)), ALL_NUMBERS);
}

function outside({ min, max, step, not }: NumberPiece): NumberSet {
  const all = { min: -Infinity, max: Infinity, step: null, not: [] };
  const pieces: NumberPiece[] = not.map((each) => ({ ...all, step: each }));
  if (min > -Infinity) pieces.push({ ...all, max: nextBelow(min) });
  if (max < Infinity) pieces.push({ ...all, min: nextAbove(max) });
  if (step !== null) pieces.push({ ...all, not: [step] });
  return pieces;
}

/** Drops empty pieces and joins intervals that touch. */
function tidy(pieces: NumberPiece[]): NumberSet {
  const kept = pieces.filter((piece) => piece.min <= piece.max && !contradicts(piece));
  kept.sort((a, b) => a.min - b.min);
  const joined: NumberPiece[] = [];
  for (const piece of kept) {
    const at = joined.findIndex((other) => alike(other, piece) && piece.min <= nextAbove(other.max));
    const other = joined[at];
    if (other === undefined) joined.push(piece);
    else joined[at] = { ...other, max: Math.max(other.max, piece.max) };
  }
  const [first] = joined;
  const whole = first?.min === -Infinity && first.max === Infinity && alike(first, ALL_NUMBERS[0]!);
  return whole ? ALL_NUMBERS : joined;
}

/** No multiple of the step lies between the bounds, or each is also a multiple of what must not divide. */
function contradicts({ min, max, step, not }: NumberPiece): boolean {
  if (step !== null && (not.some((each) => isMultiple(step, each)) || !hasMultiple(min, max, step)))
    return true;
  return min === max && not.some((each) => isMultiple(decimalOf(min), each));
}

function alike(a: NumberPiece, b: NumberPiece): boolean {
  const steps = a.step === null || b.step === null ? a.step === b.step : same(a.step, b.step);
  return steps && a.not.length === b.not.length && a.not.every((each, i) => same(each, b.not[i]!));
}

const same = (a: Decimal, b: Decimal): boolean => a.digits === b.digits && a.exponent === b.exponent;

/** Whether all numbers of the piece are whole. */
export const isWhole = ({ step }: NumberPiece): boolean => step !== null && isMultiple(step, ONE);
