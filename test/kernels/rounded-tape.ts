// Runs a launcher that rounds rows to 8 bits, and takes its words apart.

import { expect } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { Tensor, tensorBytes } from '../../src/gpu/tensor.ts';
import { poison } from './compute.ts';

/** The words of rows of `columns` values, [row][word], on a tape for `capacity` rows. */
export async function roundedWords(
  device: Device,
  { x, columns, capacity }: { x: Float32Array; columns: number; capacity: number },
  record: (x: Tensor) => Tensor,
): Promise<Uint32Array[]> {
  const rows = x.length / columns;
  const stride = Math.ceil(columns / 32) * 32;
  const padded = new Float32Array(rows * stride);
  for (let row = 0; row < rows; row++)
    padded.set(x.subarray(row * columns, (row + 1) * columns), row * stride);
  const tape = new Tape(device, { rows: capacity }, { decodes: ['rows'] });
  const buffer = device.allocate('step', 'x', tensorBytes(['rows', columns], { rows: capacity }));
  device.gpu.queue.writeBuffer(buffer, 0, padded);
  const region = { buffer, offset: 0, size: buffer.size };
  const y = tape.keep(record(new Tensor(['rows', columns], 'f32', { region, tape })));
  tape.finish();
  device.arena.settle();
  poison(device, tape.region(y));
  tape.run({ rows });
  const words = new Uint32Array(await device.read(tape.region(y)));
  expect(device.takeError()).toBeNull();
  device.free(buffer);
  tape.destroy();
  return Array.from({ length: rows }, (_, row) => words.slice(row * y.stride, (row + 1) * y.stride));
}
