// Rows that a tower makes of a prepared medium, and their comparison.

import { expect } from 'vitest';
import { TowerRecording } from '../../../../src/engine/text/towers/tower-recording.ts';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import type { Checkpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import type { Tape } from '../../../../src/gpu/tape.ts';
import { Arena } from '../../../../src/gpu/arena.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { MediaModel, PreparedMedium, Tower } from '../../../../src/models/media.ts';

export interface TowerRows {
  columns: number;
  /** With padding behind each row. */
  blocks: Float32Array[];
  /** Of the tower's tape. */
  dispatches: number;
}

export async function rowsOf(
  on: Device,
  { beside }: Pick<Checkpoint, 'beside'>,
  { towers }: MediaModel,
  prepared: PreparedMedium,
  { plain = false }: { plain?: boolean } = {},
): Promise<TowerRows> {
  const weights = openWeights(on, beside!.tensors, towers[prepared.tower]!, { format: null });
  await weights.load();
  let dispatches = 0;
  const tower: Tower = (inputs, layout) => {
    const results = weights.page(inputs, layout);
    dispatches = (results[0]!.tape as Tape).dispatchCount;
    return results;
  };
  const recording = new TowerRecording(on, new Arena(on), tower, prepared, { plain });
  const { blocks, blockBytes } = recording.sizes;
  const buffers = Array.from({ length: blocks }, () => on.allocate('step', 'rows', blockBytes));
  const regions = buffers.map((buffer) => ({ buffer, offset: 0, size: blockBytes }));
  recording.write(prepared);
  for (const waits of recording.submits(1, { blocks: regions })) await waits;
  const read = await Promise.all(regions.map(async (region) => new Float32Array(await on.read(region))));
  const { columns } = recording;
  recording.free();
  weights.free();
  const error = on.takeError();
  if (error !== null) throw error;
  return { columns, blocks: read, dispatches };
}

/** Relative to the largest value of the rows. */
const TOLERANCE = 1e-4;

export function expectRows(
  found: Float32Array,
  columns: number,
  { shape, values }: { shape: number[]; values: ArrayLike<number> },
) {
  const [rows = 0, width = 0] = shape;
  expect(width).toBe(columns);
  const stride = found.length / rows;
  const largest = Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  let worst = 0;
  for (let i = 0; i < values.length; i++) {
    const at = Math.floor(i / width) * stride + (i % width);
    worst = Math.max(worst, Math.abs(found[at]! - values[i]!));
  }
  expect(worst / largest).toBeLessThan(TOLERANCE);
}
