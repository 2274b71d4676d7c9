// The choice of a quantization by the bytes that a page's weights take, and that options offer the formats that there are.

import { describe, expect, it, vi } from 'vitest';
import {
  chooseQuantization,
  QUANTIZATIONS,
  weightBytesIn,
} from '../../../src/engine/weights/quantization.ts';
import type { TensorHeader } from '../../../src/engine/weights/check.ts';
import { textOf, type Prose } from '../../../src/files/message.ts';
import { readShader } from '../../../src/gpu/node.ts';
import { openPaperDevice } from '../../../src/gpu/paper-device.ts';
import { FORMATS, QUANTIZED_FORMATS } from '../../../src/kernels/formats.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { LOADING } from '../../../src/options/model.ts';

const page = (weights: WeightTable): void => {
  weights.matrix('w.weight', 64, 64, { bias: true });
  weights.router('router.weight', 64, 64);
};
const tensors = new Map(
  [
    ['w.weight', [64, 64]],
    ['w.bias', [64]],
    ['router.weight', [64, 64]],
  ].map(([name, shape]) => [name as string, { name, dtype: 'BF16', shape } as TensorHeader]),
);
const open = (memoryBudget: number) => openPaperDevice({ shaders: readShader, memoryBudget });

describe('quantization auto', () => {
  const bytesIn = weightBytesIn(open(0), tensors, page);

  it('counts the bytes that are allocated, routers as they are stored', () => {
    const router = 64 * 64 * 2;
    const bias = 64 * 4;
    expect(QUANTIZATIONS.map(bytesIn)).toEqual([
      64 * 64 * 2 + bias + router,
      64 * 64 + (64 * 64 * 4) / 32 + bias + router,
      (64 * 64) / 2 + (64 * 64 * 4) / 32 + bias + router,
    ]);
  });

  it.each([
    [40_000, 'none'],
    [18_000, 'int8'],
    [14_000, 'int4'],
  ])('takes the largest that leaves a fifth of %i bytes', async (budget, chosen) => {
    const note = vi.fn<(message: Prose) => void>();
    expect(await chooseQuantization(open(budget), 'auto', bytesIn, note)).toBe(chosen);
    expect(note).toHaveBeenCalledOnce();
    expect(textOf(note.mock.calls[0]![0])).toContain(`\`quantization\` auto: ${chosen}`);
  });

  it('is refused where none fits, and leaves other choices alone', async () => {
    const note = vi.fn();
    await expect(chooseQuantization(open(1000), 'auto', bytesIn, note)).rejects.toMatchObject({
      code: 'out_of_memory',
      message: expect.stringContaining('even as int4'),
    });
    expect(await chooseQuantization(open(1000), 'int8', bytesIn, note)).toBe('int8');
    expect(note).not.toHaveBeenCalled();
  });
});

it('the options offer the formats that weights are quantized to', () => {
  expect(QUANTIZED_FORMATS).toEqual(['int8', 'int4']);
  for (const [name, format] of Object.entries(FORMATS)) expect(format.name).toBe(name);
  const { kind } = LOADING.quantization;
  expect(kind.choices).toEqual(['none', ...QUANTIZED_FORMATS, 'auto']);
});

it('experts in codes leave the other matrices to be quantized, and are counted as they are stored', () => {
  const mixed = (weights: WeightTable): void => {
    weights.matrix('w.weight', 64, 64);
    weights.experts(['e.weight'], 64, 64);
  };
  const headers = new Map<string, TensorHeader>(
    [
      { name: 'w.weight', dtype: 'BF16' as const, shape: [64, 64] },
      { name: 'e.weight', dtype: 'F4' as const, shape: [64, 64] },
      { name: 'e.weight_scale', dtype: 'F8_E8M0' as const, shape: [64, 2] },
    ].map((header) => [header.name, header]),
  );
  const bytesIn = weightBytesIn(open(0), headers, mixed);
  expect(bytesIn.choices).toEqual(QUANTIZATIONS);
  // The exponents' 128 bytes take a buffer of 256.
  const experts = (64 * 64) / 2 + 256;
  expect([bytesIn('none'), bytesIn('int8')]).toEqual([
    64 * 64 * 2 + experts,
    64 * 64 + (64 * 64 * 4) / 32 + experts,
  ]);
});
