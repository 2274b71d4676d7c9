// Tensors of GPTQ and AWQ that do not fit one another are refused with the tensor and what is wrong.

import { describe, expect, it } from 'vitest';
import { fold, refusedWith, type Shapes } from './fold-shapes.ts';

/** 256 inputs in groups of 64, 96 outputs. */
const GPTQ: Shapes = {
  qweight: ['I32', [32, 96]],
  qzeros: ['I32', [4, 12]],
  scales: ['F16', [4, 96]],
  g_idx: ['I32', [256]],
};
const gptq = { quant_method: 'gptq', bits: 4, group_size: 64, desc_act: false };

describe('GPTQ', () => {
  it('takes bits and groups from the tensors where modules differ', () => {
    expect(fold(GPTQ, gptq)).toMatchObject({ dtype: 'U4_64', shape: [96, 256], bytes: 4 });
    const eight = { qweight: ['I32', [64, 96]], qzeros: ['I32', [2, 24]], scales: ['F16', [2, 96]] } as const;
    const dynamic = { ...gptq, dynamic: { '+:w': { bits: 8, group_size: 128 } } };
    expect(fold({ ...GPTQ, ...eight }, dynamic)).toMatchObject({ dtype: 'U8_128', shape: [96, 256] });
    const whole = { qzeros: ['I32', [1, 12]], scales: ['BF16', [1, 96]] } as const;
    expect(fold({ ...GPTQ, ...whole }, { ...gptq, desc_act: true })).toMatchObject({
      dtype: 'U4_128',
      coded: { groupKs: 256, order: null },
    });
  });

  const cases: [Shapes, string][] = [
    [{ qzeros: null }, 'tensor w.qzeros is missing'],
    [
      { scales: ['F16', [3, 96]] },
      'w.scales has the shape [3, 96], and 256 inputs in groups of 64 and 96 outputs make [4, 96]',
    ],
    [{ scales: ['F16', [4, 95]] }, 'w.scales has the shape [4, 95]'],
    [{ scales: ['I8', [4, 96]] }, 'w.scales is I8 of [4, 96]'],
    [{ qzeros: ['I32', [3, 12]] }, 'w.qzeros has the shape [3, 12]'],
    [
      { qzeros: ['I32', [4, 13]] },
      'w.qzeros has the shape [4, 13], which is not a packing of 96 zero points',
    ],
    [{ qzeros: ['I32', [4, 24]] }, "w.qzeros is packed as 8 bits, and the quantization's settings say 4"],
    [{ qweight: ['I64', [32, 96]] }, 'w.qweight is I64 of [32, 96]'],
    [{ g_idx: ['I32', [255]] }, 'w.g_idx has the shape [255], and words of codes for 256 inputs make [256]'],
  ];
  it.each(cases)('%j is damaged', (change, message) => {
    refusedWith('bad_checkpoint', message, () => fold({ ...GPTQ, ...change }, gptq));
  });

  const others: [Shapes, object, string][] = [
    [{ qzeros: ['I32', [4, 6]] }, {}, 'w.qzeros is of 2 bits, and 4 and 8 are read'],
    [
      { scales: ['F16', [16, 96]], qzeros: ['I32', [16, 12]] },
      { group_size: 16 },
      'w.weight has 256 inputs in groups of 16',
    ],
  ];
  it.each(others)('%j is not read', (change, more, message) => {
    refusedWith('unsupported', message, () => fold({ ...GPTQ, ...change }, { ...gptq, ...more }));
  });
});

describe('AWQ', () => {
  const AWQ: Shapes = { qweight: ['I32', [256, 12]], qzeros: ['I32', [4, 12]], scales: ['F16', [4, 96]] };
  const awq = { quant_method: 'awq', bits: 4, group_size: 64, version: 'GEMM' };
  const cases: [Shapes, string][] = [
    [{ qweight: ['I32', [32, 96]] }, 'w.scales has the shape [4, 96], and 32 inputs'],
    [{ scales: ['F16', [2, 96]] }, 'w.scales has the shape [2, 96], and 256 inputs in groups of 64'],
    [{ qzeros: ['I32', [4, 96]] }, 'w.qzeros has the shape [4, 96]'],
  ];
  it.each(cases)('%j is damaged', (change, message) => {
    expect(fold(AWQ, awq)).toMatchObject({ dtype: 'U4_64', shape: [96, 256] });
    refusedWith('bad_checkpoint', message, () => fold({ ...AWQ, ...change }, awq));
  });
});
