// The spellings of a set of numbers as an automaton: plain decimals, and an exponent where JSON.stringify writes one. With a step
// that does not divide 100,000, numbers from 1e21 on have no spelling with an exponent.

import { NOTHING, unite, type Dfa, type Limits } from '../dfa.ts';
import { INTEGER, NUMBER } from '../json-text.ts';
import { decimalOf, isMultiple, type Decimal } from './decimal.ts';
import { exponentDfa, SMALLEST_PLAIN } from './exponent.ts';
import { plainDfa } from './plain-number.ts';
import { ALL_NUMBERS, INTEGERS, type NumberPiece, type NumberSet } from './number-set.ts';
import { wordsDfa } from './words.ts';

const made = new WeakMap<NumberSet, Dfa>();

// The two sets that most schemas ask for, without the detour over bounds.
const USUAL = new Map<NumberSet, Dfa>([
  [ALL_NUMBERS, NUMBER],
  [INTEGERS, INTEGER],
]);

export function numberDfa(set: NumberSet, bounds: Limits): Dfa {
  let found = USUAL.get(set) ?? made.get(set);
  if (found === undefined) {
    found = set.reduce((all, piece) => unite(all, pieceDfa(piece, bounds), bounds), NOTHING);
    made.set(set, found);
  }
  return found;
}

function pieceDfa(piece: NumberPiece, bounds: Limits): Dfa {
  const { min, max, step, not } = piece;
  if (min === max) return wordsDfa([String(min)], bounds);
  // What JSON.stringify writes with an exponent of 21 or more is a multiple of 100,000.
  const large = not.length === 0 && (step === null || isMultiple(decimalOf(1e5), step));
  const small = step === null && not.every((each) => valueOf(each) >= SMALLEST_PLAIN);
  return [
    { sign: '', min: Math.max(min, 0), max },
    { sign: '-', min: Math.max(-max, 0), max: -min },
  ]
    .filter((range) => range.min <= range.max)
    .flatMap((range) => [plainDfa(piece, range, bounds), exponentDfa(range, { large, small }, bounds)])
    .reduce((all, each) => unite(all, each, bounds), NOTHING);
}

const valueOf = ({ digits, exponent }: Decimal): number => Number(`${digits}e${exponent}`);
