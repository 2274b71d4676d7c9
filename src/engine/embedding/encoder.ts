// BERT-type models: texts of about one length side by side, padded to it. A recording serves one shape; the last few are kept.

import type { Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import type { Pooling } from '../../files/checkpoint/embedding-folder.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../../gpu/tensor.ts';
import { meanRows } from '../../kernels/mean-rows.ts';
import { bert, type BertForward } from '../../models/text/bert.ts';
import { readBertConfig } from '../../models/text/bert-config.ts';
import { formatOf } from '../weights/plan.ts';
import { openWeights } from '../weights/weights.ts';
import type { EmbeddingRunner } from './runner.ts';
import { vectorsOf } from './runner.ts';

export interface RunnerOptions {
  pooling: Pooling;
  quantization: 'none' | 'int8' | 'int4';
  contextLength: number;
  onProgress(bytes: number, totalBytes: number): void;
}

const MOST_TEXTS = 64;
const KEPT_SHAPES = 12;

/** Tokens that a text is padded to: few shapes, little waste. */
function paddedTokens(tokens: number, most: number): number {
  const step = tokens <= 64 ? 16 : tokens <= 256 ? 32 : 128;
  return Math.min(Math.ceil(tokens / step) * step, most);
}

export async function openEncoder(
  device: Device,
  checkpoint: Checkpoint,
  architecture: string,
  options: RunnerOptions,
): Promise<EmbeddingRunner> {
  const config = readBertConfig(checkpoint.config, architecture);
  const weights = openWeights(device, checkpoint.tensors, (table) => bert(config, table), {
    format: formatOf(options.quantization),
  });
  const forward = weights.page;
  await weights.load({ onProgress: options.onProgress });
  const contextLength = Math.min(options.contextLength, config.context);
  const widest = 4 * paddedColumns(Math.max(config.ffn, 3 * config.hidden));
  const rows = Math.min(
    device.profile.stepRows.embedding,
    Math.floor(device.capabilities.bindingLimit / widest),
  );
  const shapes = new Map<string, Shape>();

  const shapeOf = async (items: number, tokens: number): Promise<Shape> => {
    const key = `${items}×${tokens}`;
    const kept = shapes.get(key) ?? (await recordShape(device, forward, items, tokens));
    shapes.delete(key);
    shapes.set(key, kept); // the last used stands last
    const oldest = [...shapes.keys()][0]!;
    if (shapes.size > KEPT_SHAPES) {
      shapes.get(oldest)!.destroy();
      shapes.delete(oldest);
    }
    return kept;
  };

  return {
    device,
    parameters: weights.parameters,
    dimensions: config.hidden,
    contextLength,
    pick(lengths) {
      const tokens = paddedTokens(lengths[0]!, contextLength);
      const alike = lengths.flatMap((length, at) =>
        paddedTokens(length, contextLength) === tokens ? [at] : [],
      );
      const most = Math.max(1, Math.min(alike.length, MOST_TEXTS, Math.floor(rows / tokens)));
      return alike.slice(0, 2 ** Math.floor(Math.log2(most)));
    },
    async run(texts) {
      const tokens = paddedTokens(Math.max(...texts.map((ids) => ids.length)), contextLength);
      const shape = await shapeOf(texts.length, tokens);
      shape.write(texts, options.pooling);
      shape.tape.run({}, { submitEvery: 1 });
      const bytes = await device.read(shape.tape.region(shape.pooled));
      const error = device.takeError();
      if (error !== null) throw error;
      return vectorsOf(bytes, shape.pooled, texts.length);
    },
  };
}

interface Shape {
  tape: Tape;
  /** [items, hidden] */
  pooled: Tensor;
  write(texts: readonly (readonly number[])[], pooling: Pooling): void;
  destroy(): void;
}

async function recordShape(
  device: Device,
  forward: BertForward,
  items: number,
  tokens: number,
): Promise<Shape> {
  const held = {
    ids: device.tensor('step', 'token ids', [items, tokens], new Uint32Array(items * tokens)),
    counts: device.tensor('step', 'tokens of texts', [items], new Uint32Array(items).fill(1)),
    ranges: device.tensor('step', 'pooled rows', [2 * items], new Uint32Array(2 * items)),
  };
  const tape = new Tape(device, {});
  const states = forward(tape, { ids: held.ids.on(tape), counts: held.counts.on(tape) });
  const pooled = tape.keep(meanRows(states, held.ranges.on(tape)));
  tape.finish();
  await device.reserve(device.memoryUsed + device.arena.growth());
  const write = ({ region, stride }: Tensor, row: number, words: readonly number[]): void =>
    device.gpu.queue.writeBuffer(region!.buffer, 4 * row * stride, Uint32Array.from(words));

  return {
    tape,
    pooled,
    write(texts, pooling) {
      texts.forEach((ids, item) => write(held.ids, item, ids));
      write(
        held.counts,
        0,
        texts.map((ids) => ids.length),
      );
      const ranges = texts.flatMap(({ length }, item) => pooledRows(item * tokens, length, pooling));
      write(held.ranges, 0, ranges);
    },
    destroy() {
      tape.destroy();
      for (const { region } of Object.values(held)) device.free(region!.buffer);
    },
  };
}

/** First row and number of rows. */
function pooledRows(first: number, length: number, pooling: Pooling): [number, number] {
  if (pooling === 'mean') return [first, length];
  return [pooling === 'cls' ? first : first + length - 1, 1];
}
