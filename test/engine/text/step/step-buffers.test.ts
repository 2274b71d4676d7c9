// How a step reaches the device: the bytes of every region, in as few writes as their places allow.

import { expect, it } from 'vitest';
import { BatchWriter } from '../../../../src/engine/text/step/batch-writer.ts';
import { createStepBuffers } from '../../../../src/engine/text/step/step-buffers.ts';
import { writeStep } from '../../../../src/engine/text/step/step.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { ROW_WORDS } from '../../../../src/kernels/batch.ts';
import { readConfig } from '../../../../src/models/config-values.ts';
import { readRope } from '../../../../src/models/text/blocks/rope-config.ts';
import { paperSequence } from '../paper-sequence.ts';

const DIMS = 128;
const MODEL = {
  ropes: [readRope(readConfig('config.json', { rope_theta: 10000 }), DIMS)],
  inputs: { embeddings: false, positions: 1, attention: 'causal' },
} as const;
const CAPACITY = {
  ...{ rows: 512, tiles: 512, pages: 16384, sampled: 16, biases: 64, slots: 16 },
  ...{ ropeWords: DIMS, model: MODEL.inputs },
};

/** A fake device that keeps what is written; `writes` are the byte lengths of the calls. */
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

it('a decode step is one write, and its rotary frequencies are written with the first step only', () => {
  const { device, bytes, writes } = paperDevice();
  const buffers = createStepBuffers(device, CAPACITY);
  const writer = new BatchWriter(buffers, MODEL);
  const sequence = paperSequence([5, 6, 7, 8], 9);
  sequence.placement.slot = 0;
  sequence.placement.tables = [[3]];
  const step = (first: number): number => {
    writes.length = 0;
    const parts = [{ sequence, first, rows: 1, samples: true, processed: null }];
    writeStep(writer, { parts, phase: null });
    return writes.length;
  };
  expect(step(1)).toBe(2);
  const { turns, rows } = buffers.batch;
  const words = new Uint32Array(bytes[0]!.buffer);
  const written = words.slice(turns.offset / 4, turns.offset / 4 + DIMS);
  expect(written).toEqual(buffers.words.turns.slice(0, DIMS));
  expect(written.some((word) => word !== 0)).toBe(true);
  expect(step(2)).toBe(1);
  expect(step(3)).toBe(1);
  expect([...words.slice(rows.offset / 4, rows.offset / 4 + ROW_WORDS)]).toEqual([8, 3, 0, 0]);
  expect(words[buffers.tables[0]!.places.offset / 4]).toBe(3 * 32 + 3);
  expect(writes[0]).toBeLessThan(2 ** 15);
});
