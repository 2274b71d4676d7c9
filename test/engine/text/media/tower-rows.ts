// Rows that a tower makes of a prepared medium.

import { TowerRecording } from '../../../../src/engine/text/media/tower-recording.ts';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import type { Checkpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { Arena } from '../../../../src/gpu/arena.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { MediaModel, PreparedMedium } from '../../../../src/models/media.ts';

export interface TowerRows {
  columns: number;
  /** With padding behind each row. */
  blocks: Float32Array[];
}

export async function rowsOf(
  on: Device,
  { beside }: Pick<Checkpoint, 'beside'>,
  { towers }: MediaModel,
  prepared: PreparedMedium,
): Promise<TowerRows> {
  const weights = openWeights(on, beside!.tensors, towers[prepared.tower]!, { format: null });
  await weights.load();
  const recording = TowerRecording.record(on, new Arena(on), weights.page, prepared);
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
  return { columns, blocks: read };
}
