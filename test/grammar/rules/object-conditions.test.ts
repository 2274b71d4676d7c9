// The search for names that meet the conditions of an object.

import { expect, test } from 'vitest';
import { allConditions, OpenNames } from '../../../src/grammar/rules/object-conditions.ts';

const free = (): void => {};

test('each condition needs a name of its own, a kind of values that meets several, or an absence', () => {
  const names = new OpenNames([[0b001], [0b010, 0b100]], []);
  expect(names.canMeet(0b011, free)).toBe(true);
  expect(names.canMeet(0b111, free)).toBe(false);
  expect(new OpenNames([[0b001], [0b110]], []).canMeet(0b111, free)).toBe(true);
});

test('passed and used names do not meet a condition', () => {
  const names = new OpenNames([[0b01], [0b01], [0b10]], []);
  expect(names.canMeet(0b11, free, { from: 1 })).toBe(true);
  expect(names.canMeet(0b11, free, { from: 2 })).toBe(false);
  expect(names.canMeet(0b11, free, { without: 2 })).toBe(false);
  expect(names.canMeet(0b11, free, { without: 0 })).toBe(true);
});

test('names of a group meet as many conditions as there are names left', () => {
  const group = (left: number): OpenNames => new OpenNames([], [{ kinds: [0b01, 0b10], left }]);
  expect(group(2).canMeet(0b11, free)).toBe(true);
  expect(group(2).canMeet(0b11, free, { fewerOf: 0 })).toBe(false);
  expect(group(Infinity).canMeet(0b11, free, { fewerOf: 0 })).toBe(true);
  expect(new OpenNames([], [{ kinds: [0], left: Infinity }]).canMeet(1, free)).toBe(false);
});

test('a long search for names is counted, so that it can be ended', () => {
  // Twelve conditions that only eleven names meet, beside names that could meet more than there are.
  const first = Array.from({ length: 11 }, () => Array.from({ length: 12 }, (_, i) => 1 << i));
  const names = new OpenNames([...first, [0b111 << 12], [0b111 << 12]], []);
  let spent = 0;
  const spend = (steps: number): void => {
    if ((spent += steps) > 1e7) throw new Error('too much');
  };
  expect(() => names.canMeet(allConditions(13), spend)).toThrow('too much');
});
