// Options of planModel are checked before anything is read.

import { expect, it } from 'vitest';
import { planModel } from '../../../src/engine/plan/plan-node.ts';
import { shippedModelPath } from '../../../src/index.ts';

const model = shippedModelPath();

it.each([
  [undefined, 'planModel', /must be an object/],
  [{}, 'model', /^model is missing: planModel cannot do without it/],
  [
    { model, quantization: 'auto' },
    'quantization',
    /^quantization is "auto", it must be one of none, int8, int4/,
  ],
  [{ model, memoryBudget: -1 }, 'memoryBudget', /^memoryBudget is -1, it must be/],
  [{ model, contextLength: 0 }, 'contextLength', /^contextLength is 0, it must be/],
  [{ model, bogus: 1 }, 'bogus', /^bogus is unknown to planModel/],
])('%j is a bad_request on %s', async (given, param, message) => {
  const refusal = planModel(given as Parameters<typeof planModel>[0]);
  await expect(refusal).rejects.toMatchObject({ code: 'bad_request', param });
  await expect(refusal).rejects.toThrow(message);
});

it('a plan within a budget names what fits', async () => {
  const plan = await planModel({ model, memoryBudget: 64 * 2 ** 20, quantization: 'int8' });
  expect(plan.opens).toBe(true);
  expect(plan.choices.map(({ quantization }) => quantization)).toEqual(['none', 'int8', 'int4']);
});
