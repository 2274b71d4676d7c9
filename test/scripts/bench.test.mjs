// The benchmark's single steps on a tiny checkpoint: they run, and their counts satisfy the rules of every model.

import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openDevice } from '../../dist/gpu/node.js';
import { measureCeilings } from '../../scripts/bench/ceilings.mjs';
import { countDispatches, measureSteps } from '../../scripts/bench/step.mjs';
import { lines } from '../../scripts/bench/table.mjs';
import { disguise } from '../gpu/test-device.ts';

const folder = fileURLToPath(new URL('../golden/llama', import.meta.url));

/** Dispatches of a step outside its layers: rotations, embedding, last norm, head, sampling. */
const OUTSIDE = 5;
/** Dispatches that sampling over many workgroups adds; what no row needs of them is skipped. */
const SAMPLING_IN_PARTS = 14;

it('a step costs at most eight dispatches a layer, seven on a GPU, a model at most thirty pipelines', async () => {
  const device = await openDevice();
  const steps = await measureSteps(device, folder, 'int4');
  const inLayer = device.profile.matvecRows === null ? 8 : 7;
  expect(steps.dispatches).toBeLessThanOrEqual(inLayer * steps.layers + OUTSIDE);
  expect(steps.pipelines).toBeLessThanOrEqual(30);
  expect(steps.far.wall).toBeGreaterThan(0);
  const named = steps.kernels.map(({ name }) => name);
  expect(named).toContain('attention.wgsl');

  const ceilings = await measureCeilings(device.gpu, true);
  const rate = { wall: 10, quiet: 20 };
  const text = lines({
    quantization: 'int4',
    cold: { readyMs: 1, firstTokenMs: 2 },
    warm: { readyMs: 1, firstTokenMs: 2 },
    prefill: { ...rate, firstTokenMs: 3 },
    decode: { 1: rate, 4: rate, 16: rate },
    memory: { weights: 2 ** 20, kv: 2 ** 20, arena: 2 ** 20 },
    adapter: device.summary,
    ceilings,
    steps,
  });
  const shown = device.summary.software ? '20.0 tok/s' : '10.0 tok/s';
  expect(text.find(({ name }) => name === 'decode, batch 4')?.value).toBe(shown);
  expect(text.every(({ value, note }) => !/NaN|undefined|Infinity/.test(value + note))).toBe(true);
  device.destroy();
});

it('a decode step with the kernels of GPUs has seven dispatches a layer, one of which merges chunks', async () => {
  const device = await openDevice();
  const on = disguise(device, { profile: 'discrete', matvecRows: 1 });
  const steps = await countDispatches(on, folder, 'int4');
  expect(steps.decode).toBe(7 * steps.layers + OUTSIDE + SAMPLING_IN_PARTS);
  expect(steps.prompt).toBe(8 * steps.layers + OUTSIDE + SAMPLING_IN_PARTS);
  // With norms before and after both blocks, and two tables of rotations.
  const gemma = await countDispatches(on, folder.replace('llama', 'gemma3'), 'int8');
  expect(gemma.decode).toBe(9 * gemma.layers + OUTSIDE + SAMPLING_IN_PARTS + 1);
  device.destroy();
});
