// Numbers with an exponent as a DFA. JSON.stringify writes one for magnitudes from 1e21 on, and under 1e-6.

import { determinize } from '../automata/determinize.ts';
import { intersect, NOTHING, unite, type Dfa, type Limits } from '../automata/dfa.ts';
import { characters, type Expression } from '../automata/expression.ts';
import { regexDfa } from '../automata/regex.ts';
import { nextBelow } from './decimal.ts';
import { wordsDfa } from '../automata/word-dfa.ts';
import { LARGEST_PLAIN, decimalDfa, type Range } from './decimal-dfa.ts';

export const SMALLEST_PLAIN = 1e-6;
/** Least magnitude that is written; smaller doubles have fewer digits. */
const LEAST = 1e-307;

const MANTISSA = '[1-9](\\.\\d{1,16})?';

/** `large`, `small`: whether magnitudes above and below those of plain decimals are allowed. */
export function exponentDfa(range: Range, { large = true, small = true }, bounds: Limits): Dfa {
  const zones = [
    ...(large ? [{ min: LARGEST_PLAIN, max: Number.MAX_VALUE }] : []),
    ...(small ? [{ min: LEAST, max: nextBelow(SMALLEST_PLAIN) }] : []),
  ];
  return zones.reduce((all, zone) => {
    const [min, max] = [Math.max(zone.min, range.min), Math.min(zone.max, range.max)];
    return min > max ? all : unite(all, zoneDfa(range.sign, min, max, bounds), bounds);
  }, NOTHING);
}

const made = new Map<string, Dfa>();

function zoneDfa(sign: string, min: number, max: number, bounds: Limits): Dfa {
  const key = `${sign}${min} ${max}`;
  let found = made.get(key);
  if (found === undefined) {
    const parts = spellings(min, max, bounds).map(({ mantissa, powers }): Expression => ({
      kind: 'sequence',
      parts: [
        characters(sign),
        { kind: 'dfa', dfa: mantissa },
        {
          kind: 'dfa',
          dfa: wordsDfa(
            powers.map((power) => `e${power > 0 ? '+' : ''}${power}`),
            bounds,
          ),
        },
      ],
    }));
    found = determinize({ kind: 'choice', parts }, bounds);
    // Ranges that fill a zone recur, so a few are enough.
    if (made.size < 64) made.set(key, found);
  }
  return found;
}

/** Splits a range by powers of ten: a part for the power of each end, and one for the powers between. */
function spellings(min: number, max: number, bounds: Limits): { mantissa: Dfa; powers: number[] }[] {
  const [low, high] = [min, max].map((value) => {
    const [mantissa, power] = value.toExponential().split('e');
    return { mantissa: Number(mantissa), power: Number(power) };
  }) as [{ mantissa: number; power: number }, { mantissa: number; power: number }];
  if (low.power === high.power) {
    return [{ mantissa: mantissas(low.mantissa, high.mantissa, bounds), powers: [low.power] }];
  }
  const between = Array.from({ length: high.power - low.power - 1 }, (_, i) => low.power + 1 + i);
  return [
    { mantissa: mantissas(low.mantissa, Infinity, bounds), powers: [low.power] },
    ...(between.length > 0 ? [{ mantissa: mantissas(1, Infinity, bounds), powers: between }] : []),
    { mantissa: mantissas(1, high.mantissa, bounds), powers: [high.power] },
  ];
}

function mantissas(min: number, max: number, bounds: Limits): Dfa {
  const any = regexDfa(MANTISSA, { whole: true });
  if (min === 1 && max === Infinity) return any;
  return intersect(any, decimalDfa({ step: null, not: [] }, { sign: '', min, max }, bounds), bounds);
}
