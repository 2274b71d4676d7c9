// Plain decimals as an automaton: judged digit by digit against the bounds, with the remainder by each step. Digits are bounded (21
// before the point, 22 after, as far as JSON.stringify goes), so that no run of digits lasts for ever.

import { boundLength, type BoundedDfa } from '../length-bound.ts';
import { checkLimits, dfa, NO_CLASS, type Dfa, type Limits } from '../dfa.ts';
import { plainDigits, type Decimal } from './decimal.ts';
import type { NumberPiece } from './number-set.ts';

const WHOLE_DIGITS = 21;
const MOST_WHOLE_DIGITS = 308;
const FRACTION_DIGITS = 22;
export const LARGEST_PLAIN = 1e21;

/** Remainders of a step that are counted: a state each, for every digit. */
export const MOST_REMAINDERS = 10_000;

type Steps = Pick<NumberPiece, 'step' | 'not'>;

/** Magnitudes of one sign, '' or '-'. */
export interface Range {
  sign: string;
  min: number;
  max: number;
}

interface State {
  phase: 'sign' | 'whole' | 'fraction';
  /** Digits read in this phase. */
  count: number;
  /** How the digits so far compare with the bounds' own: -1 less, 0 equal, 1 more. */
  low: number;
  high: number;
  /** By each step, of the digits so far as one whole number; the step's modulus itself where it no longer divides. */
  remainders: number[];
  /** The whole part is the digit 0 alone. */
  zero: boolean;
}

/**
 * Whether digits before the point are counted beside the automaton, once there are more than the lower bound has: the remainders at
 * each number of them would be very many.
 */
const isOpen = ({ step, not }: Steps, { min, max }: Range): boolean =>
  step !== null && not.length === 0 && min < LARGEST_PLAIN && max === Infinity;

/** The plain decimals of a range that the piece holds. */
export function plainText(steps: Steps, range: Range, bounds: Limits): BoundedDfa {
  const dfa = plainDfa(steps, range, bounds);
  if (!isOpen(steps, range)) return { dfa, longest: Infinity };
  const { scale } = scaled(steps.step!);
  return boundLength(dfa, range.sign.length + WHOLE_DIGITS + (scale > 0 ? 1 + scale : 0), bounds);
}

/** Without that count: where it is open, digits before the point may be any number. */
export function plainDfa({ step, not }: Steps, range: Range, bounds: Limits): Dfa {
  const open = isOpen({ step, not }, range);
  const low = plainDigits(range.min);
  const high = range.max === Infinity ? null : plainDigits(range.max);
  const steps = [...(step === null ? [] : [step]), ...not].map(scaled);
  // With a step there may be no other spelling.
  const beyond =
    step !== null && (range.min >= LARGEST_PLAIN || (range.max >= LARGEST_PLAIN && range.max < Infinity));
  const wholeDigits = open
    ? Infinity
    : Math.min(high?.whole.length ?? Infinity, beyond ? MOST_WHOLE_DIGITS : WHOLE_DIGITS);
  const fractionDigits = step === null ? FRACTION_DIGITS : steps[0]!.scale;

  function digit(state: State, d: number): State | null {
    const whole = state.phase === 'whole';
    if (state.zero && whole) return null;
    if (state.count >= (whole ? wholeDigits : fractionDigits)) return null;
    if (state.low > 0 && state.high < 0 && !whole && steps.length === 0)
      return { ...state, count: state.count + 1 };
    const next: State = {
      ...state,
      count: open && whole ? Math.min(state.count + 1, low.whole.length + 1) : state.count + 1,
      low: compare(state.low, d, whole ? low.whole : low.fraction, state.count),
      high: high === null ? -1 : compare(state.high, d, whole ? high.whole : high.fraction, state.count),
      remainders: state.remainders.map((remainder, i) => {
        const { modulus, scale } = steps[i]!;
        if (remainder === modulus || (!whole && state.count >= scale)) return d > 0 ? modulus : remainder;
        return (remainder * 10 + d) % modulus;
      }),
      zero: whole ? d === 0 && state.count === 0 : state.zero,
    };
    const tooLarge = next.high > 0 && (!whole || next.count === high?.whole.length);
    return tooLarge || (!whole && next.low < 0) ? null : next;
  }

  /** The number of digits decides first. */
  function endWhole(state: State): State {
    const longer = (digits: string): number => Math.sign(state.count - digits.length);
    return {
      ...state,
      phase: 'fraction',
      count: 0,
      zero: false,
      low: longer(low.whole) || state.low,
      high: high === null ? -1 : longer(high.whole) || state.high,
    };
  }

  function next(state: State, c: string): State | null {
    if (c === '.') return state.phase === 'whole' && state.count > 0 ? endWhole(state) : null;
    if (c === '-') return state.phase === 'sign' && range.sign === '-' ? { ...state, phase: 'whole' } : null;
    if (state.phase !== 'sign') return digit(state, Number(c));
    return range.sign === '' ? digit({ ...state, phase: 'whole' }, Number(c)) : null;
  }

  function accepts(state: State): boolean {
    if (state.phase === 'sign' || state.count === 0) return false;
    const end = state.phase === 'whole' ? endWhole(state) : state;
    const enough = end.low > 0 || (end.low === 0 && end.count >= low.fraction.length);
    const divides = end.remainders.map((remainder, i) => {
      const { modulus, scale } = steps[i]!;
      if (remainder === modulus) return false;
      let left = remainder;
      for (let place = end.count; place < scale; place++) left = (left * 10) % modulus;
      return left === 0;
    });
    return enough && end.high <= 0 && divides.every((holds, i) => holds === (i === 0 && step !== null));
  }
  const start: State = {
    phase: 'sign',
    count: 0,
    low: 0,
    high: 0,
    remainders: steps.map(() => 0),
    zero: false,
  };
  return explore(start, next, accepts, bounds);
}

function compare(before: number, d: number, digits: string, at: number): number {
  return before || Math.sign(d - Number(digits[at] ?? 0));
}

/** A step as whole units of 10^-scale. */
function scaled({ digits, exponent }: Decimal): { modulus: number; scale: number } {
  return { modulus: Number(digits) * 10 ** Math.max(exponent, 0), scale: Math.max(-exponent, 0) };
}

/** States a digit of a step costs: what decides whether it can be counted at all. */
export const remaindersOf = (step: Decimal): number => scaled(step).modulus;

/** The automaton of a walk over states, over the characters of plain decimals. */
function explore(
  start: State,
  next: (state: State, character: string) => State | null,
  accepts: (state: State) => boolean,
  bounds: Limits,
): Dfa {
  const numbers = new Map<string, number>();
  const found: State[] = [];
  const number = (state: State | null): number => {
    if (state === null) return -1;
    const { phase, count, low, high, remainders, zero } = state;
    const key = `${phase}${count},${low}${high}${Number(zero)}${remainders.join()}`;
    let at = numbers.get(key);
    if (at === undefined) {
      numbers.set(key, (at = found.length));
      found.push(state);
      checkLimits(bounds, found.length, CHARACTERS.length);
    }
    return at;
  };
  number(start);
  const table: number[] = [];
  for (let at = 0; at < found.length; at++) {
    for (const character of CHARACTERS) table.push(number(next(found[at]!, character)));
  }
  return dfa(
    {
      starts: [0, 0x2d, 0x2e, 0x2f, ...Array.from({ length: 10 }, (_, d) => 0x30 + d), 0x3a],
      classes: [NO_CLASS, 0, 1, NO_CLASS, ...Array.from({ length: 10 }, (_, d) => 2 + d), NO_CLASS],
      classCount: CHARACTERS.length,
      next: table,
      accept: found.map(accepts),
    },
    bounds,
  );
}

const CHARACTERS = '-.0123456789';
