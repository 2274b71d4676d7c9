// Convolution weights packed as a checkpoint's are, and the tape of a test on images: all sizes are plain numbers.

import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { FORMATS, type FormatName as Format } from '../../src/kernels/formats.ts';
import { allocateMatrix, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { packRows } from '../../src/kernels/pack.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { compute, upload, type Input, type Random } from './compute.ts';
import { weightsFor } from './packed.ts';

export interface ConvWeights {
  /** [out, in, kernel, kernel] */
  values: Float32Array;
  bias: Float32Array | null;
  matrix: Matrix;
}

export interface ConvShape {
  format: Format;
  out: number;
  channels: number;
  kernel: 1 | 3;
  hasBias: boolean;
  winograd?: boolean;
}

const CHUNK_ROWS = 32;

export function packConv(device: Device, shape: ConvShape, random: Random): ConvWeights {
  const { format, out, channels, kernel, hasBias, winograd = false } = shape;
  const taps = kernel * kernel;
  const values = transposed(weightsFor(format, out * taps, channels, random), out, taps, channels);
  const part = stacked([{ name: 'conv', rows: out }])[0]!;
  const matrix = allocateMatrix(device, FORMATS[format], channels, [part], { kernel, winograd });
  const row = channels * taps;
  runOnce(device, (tape) => {
    for (let firstRow = 0; firstRow < out; firstRow += CHUNK_ROWS) {
      const rows = Math.min(CHUNK_ROWS, out - firstRow);
      const raw = upload(device, values.subarray(firstRow * row, (firstRow + rows) * row));
      packRows(tape, matrix, part, { raw, source: 'f32', firstRow, rows });
    }
  });
  const bias = hasBias ? random.floats(out) : null;
  if (bias) matrix.bias = device.tensor('weights', 'bias', [out], bias);
  return { values, bias, matrix };
}

/** [out][tap][channel], whose blocks of channels a format holds exactly, as [out][channel][tap]. */
function transposed(values: Float32Array, out: number, taps: number, channels: number): Float32Array {
  const turned = new Float32Array(values.length);
  for (let o = 0; o < out; o++) {
    for (let tap = 0; tap < taps; tap++) {
      for (let c = 0; c < channels; c++) {
        turned[(o * channels + c) * taps + tap] = values[(o * taps + tap) * channels + c]!;
      }
    }
  }
  return turned;
}

/** Runs a test's recording once, with nothing but fixed sizes. */
export function computeImages(device: Device, record: (input: Input) => Tensor): Promise<Float32Array[]> {
  return compute({ device, capacity: {}, sizes: {}, record: (_, input) => record(input) });
}
