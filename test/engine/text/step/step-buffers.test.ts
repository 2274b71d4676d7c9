// How a step reaches the device: the bytes of every region, in as few writes as their places allow.

import { expect, it } from 'vitest';
import { createStepBuffers } from '../../../../src/engine/text/step/step-buffers.ts';
import { writeStep } from '../../../../src/engine/text/step/step.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { ROW_WORDS } from '../../../../src/kernels/batch.ts';
import { readRope } from '../../../../src/models/text/rope-config.ts';
import { ropeSets } from '../../../../src/models/text/rope.ts';
import { paperSequence } from '../paper-sequence.ts';

const CAPACITY = { rows: 512, tiles: 512, pages: 16384, sampled: 16, biases: 64, slots: 16, dims: 128 };

/** A device that only keeps what is written; `writes` are the byte lengths of the calls. */
function paperDevice(): { device: Device; bytes: Uint8Array[]; writes: number[] } {
  const bytes: Uint8Array[] = [];
  const writes: number[] = [];
  const writeBuffer = (
    buffer: Uint8Array,
    at: number,
    data: ArrayBuffer,
    from: number,
    size: number,
  ): void => {
    writes.push(size);
    buffer.set(new Uint8Array(data, from, size), at);
  };
  const encoder = { clearBuffer: () => {}, finish: () => ({}) };
  const device = {
    allocate: (_: string, __: string, size: number) => bytes[bytes.push(new Uint8Array(size)) - 1],
    gpu: { createCommandEncoder: () => encoder, queue: { submit: () => {}, writeBuffer } },
  };
  return { device: device as unknown as Device, bytes, writes };
}

it('a decoding step is one write, and its rotary frequencies are written with the first step only', () => {
  const { device, bytes, writes } = paperDevice();
  const buffers = createStepBuffers(device, CAPACITY);
  const rope = ropeSets(readRope({ rope_theta: 10000 }, CAPACITY.dims), buffers.words.turns);
  const sequence = paperSequence([5, 6, 7, 8], 9);
  sequence.placement.slot = 0;
  sequence.placement.pages = [3];
  const step = (first: number): number => {
    writes.length = 0;
    writeStep(buffers, [{ sequence, first, rows: 1, samples: true, processed: null }], rope);
    return writes.length;
  };
  expect(step(1)).toBe(2);
  const { turns, rows } = buffers.batch;
  const words = new Uint32Array(bytes[0]!.buffer);
  const written = words.slice(turns.offset / 4, turns.offset / 4 + CAPACITY.dims);
  expect(written).toEqual(buffers.words.turns.slice(0, CAPACITY.dims));
  expect(written.some((word) => word !== 0)).toBe(true);
  expect(step(2)).toBe(1);
  expect(step(3)).toBe(1);
  expect([...words.slice(rows.offset / 4, rows.offset / 4 + ROW_WORDS)]).toEqual([8, 3, 3 * 32 + 3, 0]);
  expect(writes[0]).toBeLessThan(2 ** 15);
});
