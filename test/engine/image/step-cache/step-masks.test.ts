// Masks of steps, as cache-dit 1.5.3 makes them.

import { describe, expect, it } from 'vitest';
import { MASK_NAMES, maskOf, namedMask } from '../../../../src/engine/image/step-cache/step-masks.ts';

/** Of slow, medium, fast and ultra, by numbers of steps. */
const MASKS: readonly (readonly [steps: number, masks: readonly string[]])[] = [
  [8, ['11111011', '11110101', '11101001', '11001001']],
  [9, ['111110111', '111110101', '111101001', '111001001']],
  [12, ['111101101111', '111101101001', '111010010011', '110100100011']],
  [16, ['1111111101110011', '1111110110001001', '1111100000000001', '1100000000000001']],
  [20, ['11111111011100111001', '11111101100011000101', '11111101000000000001', '11110000000000000001']],
  [
    28,
    [
      '1111111101110011100110010001',
      '1111110110001100011000110001',
      '1111110100010000100000100001',
      '1111001000001000000100000001',
    ],
  ],
  [
    50,
    [
      '11111111111111111111110011111000111110001110001101',
      '11111111111111110011100000111000001110000011100001',
      '11111111111001100000110000000110000000001100000001',
      '11111110001100000000011000000000001100000000000001',
    ],
  ],
];

const written = (mask: readonly boolean[]): string => mask.map(Number).join('');

describe('masks of steps', () => {
  it.each(MASKS)('%i steps', (steps, masks) => {
    expect(MASK_NAMES.map((name) => written(namedMask(name, steps)))).toEqual(masks);
  });

  it('compute all of fewer than 8 steps', () => {
    expect(namedMask('ultra', 7)).toEqual(Array<boolean>(7).fill(true));
  });

  it('follow bins, and compute the last step', () => {
    expect(written(maskOf({ computed: [3, 1], reused: [2, 4] }, 10))).toBe('1110010001');
    expect(written(maskOf({ computed: [2], reused: [1] }, 6))).toBe('110001');
  });
});
