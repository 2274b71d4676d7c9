// Plain decimals, without an exponent, as a DFA. It compares the digits read so far with those of the bounds, and keeps their remainder
// by each step. The number of digits is bounded as in JSON.stringify (21 before the point, 22 after), so no run of digits is endless.

import { checkLimits, dfa, NO_CLASS, type Dfa, type Limits } from '../automata/dfa.ts';
import { boundLength, type BoundedDfa } from '../automata/length-bound.ts';
import { plainDigits, type Decimal } from './decimal.ts';
import type { NumberPiece } from './number-set.ts';

const WHOLE_DIGITS = 21;
const MOST_WHOLE_DIGITS = 308;
const FRACTION_DIGITS = 22;
/** Smallest magnitude that JSON serializers write with an exponent. */
export const LARGEST_PLAIN = 1e21;
/** Limit on the remainders of a step: the automaton has a state for each of them and each number of digits. */
export const MOST_REMAINDERS = 10_000;

/** Steps of work that a digit, and one remainder of it, count as. */
const DIGIT_STEPS = 40;
const REMAINDER_STEPS = 15;

/** The steps of which numbers are, or are not, multiples. */
type Divisors = Pick<NumberPiece, 'step' | 'not'>;

/** Magnitudes from `min` to `max` of one sign, '' or '-'. */
export interface Range {
  sign: string;
  min: number;
  max: number;
}

/** A step in units of 10^-scale. */
interface ScaledStep {
  modulus: number;
  scale: number;
}

interface State {
  phase: 'sign' | 'whole' | 'fraction';
  /** Digits read in this phase. */
  count: number;
  /** Comparison of the digits read so far with as many digits of each bound: -1 less, 0 equal, 1 more. */
  low: number;
  high: number;
  /** [steps]: remainder of the digits as a whole number; the modulus itself where the number cannot be a multiple any more. */
  remainders: number[];
  /** Whether the whole part is the single digit 0. */
  zero: boolean;
}

/**
 * Whether the digits before the point are counted beside the DFA once they are more than those of the lower bound, since a DFA would have
 * a state for each remainder and each number of digits.
 */
function isOpen({ step, not }: Divisors, { min, max }: Range): boolean {
  return step !== null && not.length === 0 && min < LARGEST_PLAIN && max === Infinity;
}

/** The plain decimals of the numbers of a range that are multiples of `step` and of none of `not`. */
export function decimalTexts(divisors: Divisors, range: Range, bounds: Limits): BoundedDfa {
  const decimals = decimalDfa(divisors, range, bounds);
  if (!isOpen(divisors, range)) return { dfa: decimals, longest: Infinity };
  const { scale } = scaled(divisors.step!);
  return boundLength(decimals, range.sign.length + WHOLE_DIGITS + (scale > 0 ? 1 + scale : 0), bounds);
}

/** DFA of decimalTexts without the length bound, which is counted outside of the DFA. */
export function decimalDfa(divisors: Divisors, range: Range, bounds: Limits): Dfa {
  return new DecimalAutomaton(divisors, range).explore(bounds);
}

class DecimalAutomaton {
  readonly #range: Range;
  readonly #step: Decimal | null;
  readonly #steps: ScaledStep[];
  readonly #isOpen: boolean;
  readonly #low: { whole: string; fraction: string };
  /** null: no upper bound. */
  readonly #high: { whole: string; fraction: string } | null;
  readonly #wholeDigits: number;
  readonly #fractionDigits: number;

  constructor({ step, not }: Divisors, range: Range) {
    this.#range = range;
    this.#step = step;
    this.#steps = [...(step === null ? [] : [step]), ...not].map(scaled);
    this.#isOpen = isOpen({ step, not }, range);
    this.#low = plainDigits(range.min);
    this.#high = range.max === Infinity ? null : plainDigits(range.max);
    // Large multiples of a step may have no spelling with an exponent.
    const isBeyond =
      step !== null && (range.min >= LARGEST_PLAIN || (range.max >= LARGEST_PLAIN && range.max < Infinity));
    this.#wholeDigits = this.#isOpen
      ? Infinity
      : Math.min(this.#high?.whole.length ?? Infinity, isBeyond ? MOST_WHOLE_DIGITS : WHOLE_DIGITS);
    this.#fractionDigits = step === null ? FRACTION_DIGITS : this.#steps[0]!.scale;
  }

  /** Builds the DFA of all reachable states. */
  explore(bounds: Limits): Dfa {
    const indices = new Map<string, number>();
    const found: State[] = [];
    const indexOf = (state: State | null): number => {
      if (state === null) return -1;
      const key = keyOf(state);
      let index = indices.get(key);
      if (index === undefined) {
        indices.set(key, (index = found.push(state) - 1));
        checkLimits(bounds, found.length, CHARACTERS.length);
      }
      return index;
    };
    const remainders = this.#steps.map(() => 0);
    indexOf({ phase: 'sign', count: 0, low: 0, high: 0, remainders, zero: false });
    const table: number[] = [];
    for (let at = 0; at < found.length; at++) {
      bounds.work.spend(CHARACTERS.length * (DIGIT_STEPS + REMAINDER_STEPS * this.#steps.length));
      for (const character of CHARACTERS) table.push(indexOf(this.#next(found[at]!, character)));
    }
    return dfa(
      {
        starts: [0, 0x2d, 0x2e, 0x2f, ...Array.from({ length: 10 }, (_, d) => 0x30 + d), 0x3a],
        classes: [NO_CLASS, 0, 1, NO_CLASS, ...Array.from({ length: 10 }, (_, d) => 2 + d), NO_CLASS],
        classCount: CHARACTERS.length,
        next: table,
        accept: found.map((state) => this.#accepts(state)),
      },
      bounds,
    );
  }

  /** Returns the state after one more character; null if no number in the range begins with the text. */
  #next(state: State, character: string): State | null {
    const { phase } = state;
    const { sign } = this.#range;
    if (character === '.') return phase === 'whole' && state.count > 0 ? this.#endWhole(state) : null;
    if (character === '-') return phase === 'sign' && sign === '-' ? { ...state, phase: 'whole' } : null;
    if (phase !== 'sign') return this.#digit(state, Number(character));
    return sign === '' ? this.#digit({ ...state, phase: 'whole' }, Number(character)) : null;
  }

  #digit(state: State, d: number): State | null {
    const isWhole = state.phase === 'whole';
    if (state.zero && isWhole) return null;
    if (state.count >= (isWhole ? this.#wholeDigits : this.#fractionDigits)) return null;
    if (state.low > 0 && state.high < 0 && !isWhole && this.#steps.length === 0)
      return { ...state, count: state.count + 1 };
    const part = isWhole ? 'whole' : 'fraction';
    const high = this.#high;
    const isCapped = this.#isOpen && isWhole;
    const next: State = {
      phase: state.phase,
      count: isCapped ? Math.min(state.count + 1, this.#low.whole.length + 1) : state.count + 1,
      low: compareDigit(state.low, d, this.#low[part], state.count),
      high: high === null ? -1 : compareDigit(state.high, d, high[part], state.count),
      remainders: this.#remaindersAfter(state, d, isWhole),
      zero: isWhole ? d === 0 && state.count === 0 : state.zero,
    };
    const isTooLarge = next.high > 0 && (!isWhole || next.count === high?.whole.length);
    return isTooLarge || (!isWhole && next.low < 0) ? null : next;
  }

  #remaindersAfter({ remainders, count }: State, d: number, isWhole: boolean): number[] {
    return remainders.map((remainder, i) => {
      const { modulus, scale } = this.#steps[i]!;
      if (remainder === modulus || (!isWhole && count >= scale)) return d > 0 ? modulus : remainder;
      return (remainder * 10 + d) % modulus;
    });
  }

  /** The state after the whole part. A number with more digits before the point is the larger one. */
  #endWhole(state: State): State {
    const longer = (digits: string): number => Math.sign(state.count - digits.length);
    const high = this.#high;
    return {
      ...state,
      phase: 'fraction',
      count: 0,
      zero: false,
      low: longer(this.#low.whole) || state.low,
      high: high === null ? -1 : longer(high.whole) || state.high,
    };
  }

  #accepts(state: State): boolean {
    if (state.phase === 'sign' || state.count === 0) return false;
    const end = state.phase === 'whole' ? this.#endWhole(state) : state;
    const isEnough = end.low > 0 || (end.low === 0 && end.count >= this.#low.fraction.length);
    if (!isEnough || end.high > 0) return false;
    return end.remainders.every((remainder, i) => {
      const isDivisor = i === 0 && this.#step !== null;
      return isMultipleAt(remainder, end.count, this.#steps[i]!) === isDivisor;
    });
  }
}

/** Whether a number is a multiple of a step, by the remainder of its digits, `count` of which are behind the point. */
function isMultipleAt(remainder: number, count: number, { modulus, scale }: ScaledStep): boolean {
  if (remainder === modulus) return false;
  let left = remainder;
  for (let place = count; place < scale; place++) left = (left * 10) % modulus;
  return left === 0;
}

function compareDigit(before: number, d: number, digits: string, at: number): number {
  return before || Math.sign(d - Number(digits[at] ?? 0));
}

function keyOf({ phase, count, low, high, remainders, zero }: State): string {
  return `${phase}${count},${low}${high}${Number(zero)}${remainders.join()}`;
}

function scaled({ digits, exponent }: Decimal): ScaledStep {
  return { modulus: Number(digits) * 10 ** Math.max(exponent, 0), scale: Math.max(-exponent, 0) };
}

/** Number of remainders of a step; see MOST_REMAINDERS. */
export function remaindersOf(step: Decimal): number {
  return scaled(step).modulus;
}

const CHARACTERS = '-.0123456789';
