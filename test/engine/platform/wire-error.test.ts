// Errors on their way between threads.

import { expect, it } from 'vitest';
import { fromWire, toWire } from '../../../src/engine/platform/wire-error.ts';

it('an allocation that fails arrives as out_of_memory with its remedy', () => {
  let thrown: unknown;
  try {
    thrown = new ArrayBuffer(Number.MAX_SAFE_INTEGER);
  } catch (error) {
    thrown = error;
  }
  expect(fromWire(structuredClone(toWire(thrown)))).toMatchObject({
    code: 'out_of_memory',
    message: expect.stringContaining('int4') as string,
  });
});

it('range errors of other causes stay what they are', () => {
  const error = fromWire(toWire(new RangeError('offset is out of bounds')));
  expect(error).not.toHaveProperty('code');
  expect(error.message).toContain('offset is out of bounds');
});
