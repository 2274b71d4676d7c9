// The JSON texts of a set of numbers: plain decimals, and an exponent where JSON.stringify writes one. With a step that does not divide
// 100,000, numbers from 1e21 on have no spelling with an exponent.

import type { BoundedDfa } from '../automata/length-bound.ts';
import { uniteAll } from '../automata/determinize.ts';
import { isEmpty, type Limits } from '../automata/dfa.ts';
import { INTEGER, NUMBER, PLAIN_INTEGER } from '../rules/json-syntax.ts';
import { decimalOf, isMultiple, plainDigits, type Decimal } from './decimal.ts';
import { exponentDfa, SMALLEST_PLAIN } from './exponent-dfa.ts';
import { decimalTexts } from './decimal-dfa.ts';
import { ALL_NUMBERS, INTEGERS, isWhole, type NumberPiece, type NumberSet } from './number-set.ts';
import { wordsDfa } from '../automata/word-dfa.ts';

/** Texts that were made before, for both values of `isPlain`, with those of the two most frequent sets. */
const made = [false, true].map((isPlain) => {
  const integers = isPlain ? PLAIN_INTEGER : INTEGER;
  return new WeakMap<NumberSet, BoundedDfa[]>([
    [ALL_NUMBERS, [{ dfa: NUMBER, longest: Infinity }]],
    [INTEGERS, [{ dfa: integers, longest: Infinity }]],
  ]);
});

/** The texts of a set of numbers, as a union. `isPlain`: multiples of a whole number are written without an exponent. */
export function numberTexts(set: NumberSet, bounds: Limits, { isPlain = false } = {}): BoundedDfa[] {
  const known = made[Number(isPlain)]!;
  let found = known.get(set);
  if (found === undefined) {
    const single = set.filter(({ min, max }) => min === max).map((piece) => valueText(piece, isPlain));
    const texts = set
      .filter(({ min, max }) => min < max)
      .flatMap((piece) => pieceTexts(piece, isPlain, bounds))
      .filter(({ dfa }) => !isEmpty(dfa));
    const counted = texts.filter(({ longest }) => longest < Infinity);
    const others = texts.filter(({ longest }) => longest === Infinity).map(({ dfa }) => dfa);
    const whole = uniteAll([...(single.length > 0 ? [wordsDfa(single, bounds)] : []), ...others], bounds);
    found = isEmpty(whole) ? counted : [{ dfa: whole, longest: Infinity }, ...counted];
    known.set(set, found);
  }
  return found;
}

/** The text of the only number of a piece. */
function valueText(piece: NumberPiece, isPlain: boolean): string {
  const { min } = piece;
  return isPlain && isWhole(piece) ? (min < 0 ? '-' : '') + plainDigits(min).whole : String(min);
}

function pieceTexts(piece: NumberPiece, isPlain: boolean, bounds: Limits): BoundedDfa[] {
  const { min, max, step, not } = piece;
  // Numbers that JSON.stringify writes with an exponent of 21 or more are multiples of 100,000.
  const large =
    !(isPlain && isWhole(piece)) && not.length === 0 && (step === null || isMultiple(decimalOf(1e5), step));
  const small = step === null && not.every((each) => valueOf(each) >= SMALLEST_PLAIN);
  return [
    { sign: '', min: Math.max(min, 0), max },
    { sign: '-', min: Math.max(-max, 0), max: -min },
  ]
    .filter((range) => range.min <= range.max)
    .flatMap((range) => [
      decimalTexts(piece, range, bounds),
      { dfa: exponentDfa(range, { large, small }, bounds), longest: Infinity },
    ]);
}

const valueOf = ({ digits, exponent }: Decimal): number => Number(`${digits}e${exponent}`);
