// Sets of numbers, closed under intersection, union and complement: intervals of numbers that are, or are not, multiples of given steps.
// Numbers are doubles, so every bound is inclusive: "under 3" ends at the double before 3, and no spelling is allowed that a parser
// would round to 3.

import {
  decimalOf,
  hasMultiple,
  isMultiple,
  leastCommonMultiple,
  nextAbove,
  nextBelow,
  type Decimal,
} from './decimal.ts';
import { TooLarge } from '../automata/dfa.ts';

export interface NumberPiece {
  /** Inclusive bounds; -Infinity and Infinity: none. */
  readonly min: number;
  readonly max: number;
  /** The numbers are multiples of `step`; null: any numbers. */
  readonly step: Decimal | null;
  /** No number is a multiple of one of these. */
  readonly not: readonly Decimal[];
}

/** A set of numbers as a union of pieces, which may overlap. */
export type NumberSet = readonly NumberPiece[];

export const ALL_NUMBERS: NumberSet = [{ min: -Infinity, max: Infinity, step: null, not: [] }];

const ONE = decimalOf(1);
/** Limit on the pairs of pieces that an intersection of two sets may form. */
const MOST_PAIRS = 1_000_000;

/** A bound at the largest double does not restrict. */
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
  if (a.every(isInterval) && b.every(isInterval)) return commonIntervals(a, b);
  if (a.length * b.length > MOST_PAIRS) throw new TooLarge(`over ${MOST_PAIRS} pairs of number ranges`);
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

const isInterval = ({ step, not }: NumberPiece): boolean => step === null && not.length === 0;

/** The intersection of ascending disjoint intervals. */
function commonIntervals(a: NumberSet, b: NumberSet): NumberSet {
  const common: NumberPiece[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const [x, y] = [a[i]!, b[j]!];
    const [min, max] = [Math.max(x.min, y.min), Math.min(x.max, y.max)];
    if (min <= max) common.push({ ...x, min, max });
    if (x.max < y.max) i++;
    else j++;
  }
  return tidy(common);
}

export function uniteNumbers(...sets: NumberSet[]): NumberSet {
  return sets.includes(ALL_NUMBERS) ? ALL_NUMBERS : tidy(sets.flat());
}

export function complementNumbers(set: NumberSet): NumberSet {
  const gaps: NumberPiece[] = [];
  let from = -Infinity;
  for (const { min, max } of set.filter(isInterval)) {
    if (min > -Infinity) gaps.push({ min: from, max: nextBelow(min), step: null, not: [] });
    from = max === Infinity ? NaN : nextAbove(max);
  }
  gaps.push({ min: from, max: Infinity, step: null, not: [] });
  const others = set.filter((piece) => !isInterval(piece));
  return others.reduce((left, piece) => intersectNumbers(left, outside(piece)), tidy(gaps));
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
  // The last piece with the same steps is the only one that can touch the next piece.
  const last = new Map<string, number>();
  for (const piece of kept) {
    const key = stepsKey(piece);
    const at = last.get(key);
    const other = at === undefined ? undefined : joined[at]!;
    if (other !== undefined && piece.min <= nextAbove(other.max))
      joined[at!] = { ...other, max: Math.max(other.max, piece.max) };
    else last.set(key, joined.push(piece) - 1);
  }
  const [first] = joined;
  const whole = first?.min === -Infinity && first.max === Infinity && isInterval(first);
  return whole ? ALL_NUMBERS : joined;
}

/** Whether a piece is empty: no multiple of the step lies within the bounds, or each is a multiple of a step in `not`. */
function contradicts({ min, max, step, not }: NumberPiece): boolean {
  if (step !== null && (not.some((each) => isMultiple(step, each)) || !hasMultiple(min, max, step)))
    return true;
  return min === max && not.some((each) => isMultiple(decimalOf(min), each));
}

function stepsKey({ step, not }: NumberPiece): string {
  return [step, ...not].map((each) => (each === null ? '' : `${each.digits}e${each.exponent}`)).join();
}

const same = (a: Decimal, b: Decimal): boolean => a.digits === b.digits && a.exponent === b.exponent;

/** Whether all numbers of the piece are whole. */
export const isWhole = ({ step }: NumberPiece): boolean => step !== null && isMultiple(step, ONE);
