// Spellings of integers in both readings of a schema.

import { expect, test } from 'vitest';
import { DECLARED } from '../../../src/grammar/schema/schema-rule.ts';
import { accepts, grammarOf } from './judge.ts';

test('integers are written in digits alone, and the whole reading allows other spellings', () => {
  const schemas: object[] = [
    { type: 'integer' },
    { type: 'integer', minimum: -5, maximum: 1e25 },
    { type: ['integer', 'null'] },
    { type: 'number', multipleOf: 5 },
    { allOf: [{ type: 'integer' }, { minimum: -1e30 }] },
    { anyOf: [{ type: 'integer' }, { type: 'boolean' }] },
  ];
  const plain = ['0', '-5', '10', '100000000000000000000'];
  const exponents = ['1e+21', '1.5e+22', '1.0000000000000000e+22'];
  const others = ['1e1', '10E1', '1.0', '5.', '-5.0', '05', '+5', '1.0000000000000000e5', '2.5e-1'];
  for (const schema of schemas) {
    const declared = grammarOf(schema, DECLARED);
    const texts = [...plain, ...exponents, '1.0000000000000000e50', '1.5211111111111e111', ...others];
    expect([schema, texts.filter((one) => accepts(declared, one))]).toEqual([schema, plain]);
    const whole = grammarOf(schema);
    expect([schema, texts.filter((one) => accepts(whole, one)).slice(0, 6)]).toEqual([
      schema,
      [...plain, '1e+21', '1.5e+22'],
    ]);
  }
  const beyond = { type: 'integer', minimum: 1e21, maximum: 3e21 };
  const large = grammarOf(beyond, DECLARED);
  const texts = ['1000000000000000000000', '2999999999999999999999', '3000000000000000000001', '1e21', '5'];
  expect(texts.filter((one) => accepts(large, one))).toEqual(texts.slice(0, 2));
  const one = grammarOf({ type: 'integer', enum: [1e21, 7] }, DECLARED);
  expect(['1000000000000000000000', '7', '1e+21'].filter((each) => accepts(one, each))).toHaveLength(2);
  const number = grammarOf({ type: 'number' }, DECLARED);
  expect(['1.5', '1e21', '2.5e-7'].filter((each) => accepts(number, each))).toHaveLength(3);
});
