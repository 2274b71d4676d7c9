// Matrices of every format, with any codes.

import type { Device } from '../../src/gpu/device.ts';
import type { Region } from '../../src/gpu/tensor.ts';
import { FORMATS, type FormatName } from '../../src/kernels/formats.ts';
import { allocateMatrix, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import type { Random } from './compute.ts';
import { packMatrix, weightsFor } from './packed.ts';

/** Any codes, under scales that are numbers of ordinary size as f16, as f32 and as bytes. */
export function anyMatrix(
  on: Device,
  format: FormatName,
  columns: number,
  k: number,
  random: Random,
): Matrix {
  const parts = stacked([{ name: 'w', rows: columns }]);
  if (FORMATS[format].scale === null)
    return packMatrix(on, format, k, parts, weightsFor(format, columns, k, random));
  const matrix = allocateMatrix(on, FORMATS[format], k, parts);
  const half = (): number => 0x2c00 + random.integer(0x800) + 0x8000 * random.integer(2);
  const fill = ({ buffer, size }: Region, word: () => number): void =>
    on.gpu.queue.writeBuffer(buffer, 0, Uint32Array.from({ length: size / 4 }, word));
  for (const { codes, scales } of matrix.windows) {
    fill(codes, () => random.integer(2 ** 32));
    // mxfp4 has exponents of 8 bits: 2⁻²⁴ to 2⁷
    const exponents = (): number => 0x01010101 * (103 + random.integer(32));
    fill(scales!, format === 'mxfp4' ? exponents : () => half() + 0x10000 * half());
  }
  return matrix;
}
