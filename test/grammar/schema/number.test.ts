// Spellings of numbers against arithmetic: every range at and around its bounds.

import { expect, test } from 'vitest';
import { accepts, limits } from '../../../src/grammar/automata/dfa.ts';
import { numberTexts } from '../../../src/grammar/schema/number.ts';
import {
  ALL_NUMBERS,
  complementNumbers,
  INTEGERS,
  intersectNumbers,
  multiplesOf,
  numbersFrom,
  numbersTo,
  oneOfNumbers,
  uniteNumbers,
  type NumberSet,
} from '../../../src/grammar/schema/number-set.ts';

const spells = (set: NumberSet): ((text: string) => boolean) => {
  const texts = numberTexts(set, limits());
  return (text) => texts.some(({ dfa, longest }) => accepts(dfa, text) && text.length <= longest);
};
const between = (min: number, max: number): NumberSet =>
  intersectNumbers(numbersFrom(min, false), numbersTo(max, false));

const BOUNDS = [-1000, -121, -100, -5, -1.5, -1, -0.25, 0, 0.001, 0.5, 1, 1.5, 9, 10, 99.9, 120, 1024];
const STEPS = [-1, -0.5, -0.001, 0, 0.001, 0.5, 1];

test('ranges of integers and of numbers hold at their bounds', () => {
  for (const min of BOUNDS) {
    for (const max of BOUNDS.filter((bound) => bound >= min)) {
      const numbers = spells(between(min, max));
      const integers = spells(intersectNumbers(between(min, max), INTEGERS));
      for (const bound of [min, max, 0]) {
        for (const step of STEPS) {
          const value = Number((bound + step).toFixed(6));
          const [text, inside] = [JSON.stringify(value), value >= min && value <= max];
          expect([min, max, text, numbers(text)]).toEqual([min, max, text, inside]);
          expect([min, max, text, integers(text)]).toEqual([
            min,
            max,
            text,
            inside && Number.isInteger(value),
          ]);
        }
      }
    }
  }
});

test('exclusive bounds end at the double before', () => {
  const under = spells(numbersTo(0.3, true));
  expect(under('0.29999999999999993')).toBe(true);
  expect(under('0.29999999999999999999')).toBe(false); // a reader rounds it to 0.3
  expect(under('0.3')).toBe(false);
  const above = spells(numbersFrom(0, true));
  expect(['0.0000001', '5', '1e-9', '1e+30'].map(above)).toEqual([true, true, true, true]);
  expect(['0', '-0', '0.000', '-1', '-1e-9'].map(above)).toEqual([false, false, false, false, false]);
});

test('exponents are held to bounds', () => {
  const set = spells(between(2.5e-9, 3e22));
  const inside = [2.5e-9, 2.51e-9, 9e-9, 1e-8, 3.3e-7, 1e21, 9.99e21, 1e22, 3e22];
  const outside = [2.49e-9, 1e-9, 9e-10, 3.1e22, 4e22, 1e23, 1e300, -1e21, -1e-8];
  for (const value of inside) expect([value, set(JSON.stringify(value))]).toEqual([value, true]);
  for (const value of outside) expect([value, set(JSON.stringify(value))]).toEqual([value, false]);
  const all = spells(numbersTo(1.7e308, false));
  expect([1.7e308, -Number.MAX_VALUE, 1e-300].map((value) => all(JSON.stringify(value)))).toEqual([
    true,
    true,
    true,
  ]);
});

test('multiples are exact decimals', () => {
  const cents = spells(multiplesOf(0.01));
  expect(['19.99', '0.07', '1.1', '3', '-4.35', '0'].map(cents)).toEqual(new Array(6).fill(true));
  expect(['19.999', '0.001'].map(cents)).toEqual([false, false]);
  const threes = spells(intersectNumbers(multiplesOf(3), between(-10, 40)));
  for (let value = -15; value < 50; value++) {
    expect([value, threes(String(value))]).toEqual([value, value % 3 === 0 && value >= -10 && value <= 40]);
  }
  const sixes = spells(intersectNumbers(multiplesOf(2), multiplesOf(3)));
  const notTens = spells(intersectNumbers(multiplesOf(5), complementNumbers(multiplesOf(10))));
  for (let value = 0; value < 70; value++) {
    expect([value, sixes(String(value))]).toEqual([value, value % 6 === 0]);
    expect([value, notTens(String(value))]).toEqual([value, value % 10 === 5]);
  }
});

test('sets of numbers are closed under complement and union', () => {
  const set = uniteNumbers(between(1, 3), oneOfNumbers([7]));
  const [inside, outside] = [spells(set), spells(complementNumbers(set))];
  for (const text of ['0', '1', '2.5', '3', '3.1', '6.999', '7', '7.0001', '-3', '1e+21']) {
    expect([text, outside(text)]).toEqual([text, !inside(text)]);
  }
  expect(complementNumbers(ALL_NUMBERS)).toEqual([]);
  expect(complementNumbers([])).toBe(ALL_NUMBERS);
  expect(intersectNumbers(between(0.2, 0.8), INTEGERS)).toEqual([]);
});

test('spellings of numbers are those of JSON, and all that JSON.stringify writes without bounds', () => {
  const any = spells(ALL_NUMBERS);
  const integer = spells(INTEGERS);
  const written = [
    0,
    1,
    -1,
    0.1 + 0.2,
    1e21,
    1.5e300,
    -1e-7,
    123456789.123,
    1e-6,
    Number.MAX_SAFE_INTEGER,
    1e20,
  ];
  for (const value of written) expect([value, any(JSON.stringify(value))]).toEqual([value, true]);
  for (const text of ['', '-', '01', '1.', '.5', '+1', '1e', '0x1', 'NaN', 'Infinity', '1e+309']) {
    expect([text, any(text)]).toEqual([text, false]);
  }
  expect(['1e+21', '12', '-0', '1.5', '1.0', '1e-7'].map(integer)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('multipleOf with many remainders holds, with and without bounds', () => {
  for (const [step, places] of [
    [7919, 0],
    [9973, 0],
    [4.999, 3],
  ] as const) {
    const all = spells(multiplesOf(step));
    const above = spells(intersectNumbers(multiplesOf(step), numbersFrom(step * 3, false)));
    for (const times of [0, 1, 2, 3, 4, 17, 1000, 123_456_789]) {
      for (const sign of ['', '-']) {
        const text = (times * step).toFixed(places);
        const beside = (times * step + 10 ** -places).toFixed(places);
        expect([text, all(sign + text)]).toEqual([text, true]);
        expect([beside, all(sign + beside)]).toEqual([beside, false]);
        expect([text, above(sign + text)]).toEqual([text, sign === '' && times >= 3]);
      }
    }
    expect([all('01'), all(''), all('-'), all('9'.repeat(40))]).toEqual([false, false, false, false]);
  }
});

test('counted digits are no more than uncounted ones', () => {
  const multiples = spells(multiplesOf(7919));
  const digits = (count: number): string => {
    const first = 10n ** BigInt(count - 1);
    return String(first + (7919n - (first % 7919n)));
  };
  expect([21, 22].map((count) => multiples(digits(count)))).toEqual([true, false]);
  expect([21, 22].map((count) => multiples(`-${digits(count)}`))).toEqual([true, false]);
});
