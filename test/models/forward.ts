// One forward pass of a text model without the engine: a single sequence, all rows at once or in steps.

import { openWeights } from '../../src/engine/weights.ts';
import { createStepBuffers } from '../../src/engine/text/step-buffers.ts';
import { openCheckpoint, type Checkpoint } from '../../src/files/checkpoint.ts';
import { openDiskFolder } from '../../src/files/source-disk.ts';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { PAGE_TOKENS, TILE_ROWS, type KvFormat, type KvPages } from '../../src/kernels/batch.ts';
import { LLAMA_ARCHITECTURES, readLlamaConfig } from '../../src/models/llama-config.ts';
import { llama } from '../../src/models/llama.ts';
import { ropeRows } from '../../src/models/rope.ts';

export interface ForwardOptions {
  overrides?: Record<string, unknown>;
  format?: 'int8' | 'int4' | null;
  kv?: KvFormat;
  rows?: number;
  plain?: boolean;
}

export interface Forward {
  vocabulary: number;
  checkpoint: Checkpoint;
  dispatches: number;
  /** Appends ids to the sequence; logits of the given rows of them. `length` is what rope scaling goes by. */
  step(ids: number[], wanted: number[], length: number): Promise<Float32Array[]>;
}

export async function openForward(device: Device, folder: string, options: ForwardOptions = {}): Promise<Forward> {
  const checkpoint = await openCheckpoint(await openDiskFolder(folder), { architectures: LLAMA_ARCHITECTURES });
  const json = { ...checkpoint.config, ...options.overrides };
  const config = readLlamaConfig(json, (json['architectures'] as string[])[0]!);
  const weights = openWeights(device, checkpoint.tensors, options.format ?? null);
  const model = llama(config, weights);
  await weights.load();

  const capacity = { rows: options.rows ?? 64, sampled: 16, tiles: 64, tileRows: TILE_ROWS };
  const { kvHeads, dims } = config.heads;
  const buffers = createStepBuffers(device, { ...capacity, pages: 64, biases: 1, slots: 1, dims });
  const format = options.kv ?? 'f32';
  const kv = config.windows.map((): KvPages => {
    const region = () => {
      const buffer = device.allocate('kv', 'pages', 8 * PAGE_TOKENS * kvHeads * dims * 4);
      return { buffer, offset: 0, size: buffer.size };
    };
    return { format, keys: region(), values: region() };
  });
  const tape = new Tape(device, capacity, { plain: options.plain ?? false });
  const logits = tape.keep(model(tape, buffers.batch, kv));
  tape.finish();
  const rope = ropeRows(config.rope);
  let past = 0;

  return {
    vocabulary: config.vocabulary,
    checkpoint,
    dispatches: tape.dispatchCount,
    async step(ids, wanted, length) {
      const { words } = buffers;
      // Pages in an order of their own, so that a table ignored shows.
      words.pages.set([3, 1, 7, 0, 2, 5, 4, 6]);
      ids.forEach((id, i) => {
        const position = past + i;
        const page = words.pages[Math.floor(position / PAGE_TOKENS)]!;
        words.rows.set([id, position, page * PAGE_TOKENS + (position % PAGE_TOKENS), 0], i * 4);
        rope(position, length, words.rope.subarray(i * dims, (i + 1) * dims));
      });
      let tiles = 0;
      for (let row = 0; row < ids.length; row += TILE_ROWS) {
        words.tiles.set([row, Math.min(TILE_ROWS, ids.length - row), 0, 0], 4 * tiles++);
      }
      words.wanted.set(wanted);
      buffers.upload({ rows: ids.length, tiles, pages: 8, sampled: wanted.length, biases: 0 });
      tape.run({ rows: ids.length, sampled: wanted.length, tiles, tileRows: Math.min(TILE_ROWS, ids.length) });
      past += ids.length;
      const floats = new Float32Array(await device.read(tape.region(logits)));
      const error = device.takeError();
      if (error) throw new Error(error);
      return wanted.map((_, i) => floats.slice(i * logits.stride, i * logits.stride + config.vocabulary));
    },
  };
}

