// Which kernels a model may ask for on which adapter.

import { expect, it } from 'vitest';
import type { AdapterSummary } from '../../src/gpu/adapter.ts';
import { CPU, INTEGRATED } from '../../src/gpu/adapter-profile.ts';
import { checkChoices, chosenProfile, withChoices } from '../../src/gpu/chosen-profile.ts';

const CARD: AdapterSummary = {
  ...{ index: 0, vendor: 'nvidia', architecture: 'ampere', device: '', description: '', software: false },
  ...{ features: [], limits: {}, subgroupMinSize: 32, subgroupMaxSize: 32, matrixUnit: 'none' },
};
const DOTS = new Set(['packed_4x8_integer_dot_product']);

it('activations are floats unless 8 bits are asked for', () => {
  expect(chosenProfile(CARD, {}).activations).toBe('float');
  expect(chosenProfile(CARD, { activationDtype: 'float' }).activations).toBe('float');
  const { activations, ...rest } = chosenProfile(CARD, { activationDtype: 'int8' });
  expect(activations).toBe('int8');
  expect(chosenProfile(CARD, {})).toEqual({ ...rest, activations: 'float' });
  expect(withChoices(INTEGRATED, { deterministic: true })).toMatchObject({
    matvecRows: null,
    sharedTiles: null,
  });
});

it('activations in 8 bits are refused on adapters without their kernels or the feature of WGSL', () => {
  expect(() => withChoices(CPU, { activationDtype: 'int8' })).toThrow(
    '`activationDtype` int8 is for GPUs, and this adapter is a software adapter: leave it out',
  );
  expect(() => checkChoices(CARD, { activationDtype: 'int8' }, new Set())).toThrow(
    'needs the WGSL language feature packed_4x8_integer_dot_product, which this WebGPU lacks: leave it out',
  );
  expect(() => checkChoices(CARD, { activationDtype: 'int8' }, DOTS)).not.toThrow();
  expect(() => checkChoices(CARD, {}, new Set())).not.toThrow();
});
