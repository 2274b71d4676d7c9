// Language models that make embeddings: whole texts side by side in one flat batch, each told by the state of its last token. A
// text longer than a batch goes through in parts, its keys and values waiting in pages.

import type { Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../files/error.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import { type Tensor, paddedColumns } from '../../gpu/tensor.ts';
import { PAGE_TOKENS, ROW_WORDS, TILE_ROWS, TILE_WORDS } from '../../kernels/batch.ts';
import { readText } from '../../models/text/registry.ts';
import { ropeSets, type RopeSets } from '../../models/text/rope.ts';
import {
  allocateKv,
  createPageCleaner,
  fittingPages,
  pageBytes,
  usefulPages,
} from '../text/cache/kv-pages.ts';
import { createStepBuffers, type StepBuffers } from '../text/step/step-buffers.ts';
import { formatOf } from '../weights/plan.ts';
import { openWeights } from '../weights/weights.ts';
import type { RunnerOptions } from './encoder.ts';
import { vectorsOf, type EmbeddingRunner } from './runner.ts';

const SMALL_CAPACITIES = [TILE_ROWS, 4 * TILE_ROWS];
const MOST_TEXTS = 64;

export async function openDecoder(
  device: Device,
  checkpoint: Checkpoint,
  architecture: string,
  options: RunnerOptions,
): Promise<EmbeddingRunner> {
  if (options.pooling !== 'last') {
    throw new EngineError(
      'unsupported',
      `${checkpoint.path}: a ${architecture} that pools by ${options.pooling} is not built; choose one that pools by its last token`,
      { param: '1_Pooling/config.json' },
    );
  }
  const config = readText(checkpoint.config, architecture);
  const quantized = options.quantization === 'none' ? null : options.quantization;
  const weights = openWeights(device, checkpoint.tensors, config.embed!, {
    format: formatOf(options.quantization),
  });
  const forward = weights.page;
  await weights.load({ onProgress: options.onProgress });

  const { dims } = config.rope;
  const widest = 4 * paddedColumns(config.widest);
  const fitting = Math.floor(device.capabilities.bindingLimit / widest / TILE_ROWS) * TILE_ROWS;
  const rows = Math.min(device.profile.stepRows.embedding, fitting);
  const stored = [...checkpoint.tensors.values()].every(({ dtype }) => dtype === 'F32');
  const format = stored && quantized === null ? 'f32' : 'f16';
  const wantedTokens = Math.max(Math.min(options.contextLength, config.context), rows + MOST_TEXTS);
  await device.reserve(
    device.memoryUsed + pageBytes(config.layers, format) * Math.ceil(wantedTokens / PAGE_TOKENS),
  );
  const slots = { contextLength: wantedTokens + MOST_TEXTS * PAGE_TOKENS, totalTokens: Infinity, slots: 1 };
  const pages = Math.min(
    usefulPages(device, config.layers, format, slots),
    fittingPages(device, config.layers, format),
  );
  const kv = allocateKv(device, config.layers, format, pages);
  createPageCleaner(device, kv, pages).ahead(pages);
  const tiles = rows / TILE_ROWS + MOST_TEXTS;
  const buffers = createStepBuffers(device, {
    rows,
    tiles,
    pages,
    sampled: MOST_TEXTS,
    biases: 0,
    slots: 1,
    dims,
  });
  const rope = ropeSets(config.rope, buffers.words.turns);
  const recordings = [...SMALL_CAPACITIES.filter((small) => small < rows), rows].map((capacity) => {
    const tape = new Tape(device, { rows: capacity, tiles, sampled: MOST_TEXTS, tileRows: TILE_ROWS });
    const states = tape.keep(forward(tape, buffers.batch, kv));
    tape.finish();
    return { tape, states };
  });
  await device.reserve(device.memoryUsed + device.arena.growth());

  const step = async (parts: readonly Part[]): Promise<Float32Array[]> => {
    const sizes = writeParts(buffers, parts, rope);
    const { tape, states } = recordings.find(({ tape: { capacity } }) => capacity['rows']! >= sizes.rows)!;
    tape.run(sizes, { submitEvery: 1 });
    const vectors = await readRows(device, tape, states, sizes.sampled);
    const error = device.takeError();
    if (error !== null) throw error;
    return vectors;
  };

  return {
    device,
    parameters: weights.parameters,
    dimensions: config.hidden,
    contextLength: Math.min(options.contextLength, config.context, pages * PAGE_TOKENS),
    pick(lengths) {
      const picked: number[] = [];
      let left = rows;
      let leftPages = pages;
      for (const [at, length] of lengths.entries()) {
        const taken = Math.ceil(length / PAGE_TOKENS);
        if (picked.length > 0 && (length > left || taken > leftPages)) continue;
        picked.push(at);
        left -= length;
        leftPages -= taken;
        if (left <= 0 || picked.length === MOST_TEXTS) break;
      }
      return picked;
    },
    async run(texts, wanted) {
      const [first] = texts;
      if (texts.length > 1 || first!.length <= rows) return step(partsOf(texts));
      for (let from = 0; ; from += rows) {
        if (!wanted()) throw new EngineError('cancelled', 'the request was cancelled');
        const to = Math.min(from + rows, first!.length);
        const vectors = await step([{ ids: first!, from, to, firstPage: 0 }]);
        if (to === first!.length) return vectors;
      }
    },
  };
}

/** Tokens `from` to `to` of a text whose pages begin at one of them. */
interface Part {
  ids: readonly number[];
  from: number;
  to: number;
  firstPage: number;
}

function partsOf(texts: readonly (readonly number[])[]): Part[] {
  let firstPage = 0;
  return texts.map((ids) => {
    const part = { ids, from: 0, to: ids.length, firstPage };
    firstPage += Math.ceil(ids.length / PAGE_TOKENS);
    return part;
  });
}

function writeParts({ words, upload }: StepBuffers, parts: readonly Part[], rope: RopeSets) {
  let rows = 0;
  let tiles = 0;
  let pages = 0;
  let tileRows = 0;
  rope.clear();
  parts.forEach(({ ids, from, to, firstPage }, index) => {
    const set = rope.of(ids.length);
    for (let row = from; row < to; row += TILE_ROWS) {
      const count = Math.min(TILE_ROWS, to - row);
      words.tiles.set([rows + row - from, count, pages, 0], TILE_WORDS * tiles++);
      tileRows = Math.max(tileRows, count);
    }
    for (let position = from; position < to; position++, rows++) {
      const place = firstPage * PAGE_TOKENS + position;
      words.rows.set([ids[position]!, position, place, set], ROW_WORDS * rows);
    }
    const count = Math.ceil(to / PAGE_TOKENS);
    for (let page = 0; page < count; page++) words.pages[pages++] = firstPage + page;
    words.wanted[index] = rows - 1;
  });
  upload({ rows, frequencies: rope.count, tiles, pages, sampled: parts.length, biases: 0 });
  return { rows, tiles, tileRows, sampled: parts.length };
}

async function readRows(device: Device, tape: Tape, states: Tensor, rows: number): Promise<Float32Array[]> {
  const region = tape.region(states);
  const bytes = await device.read({ ...region, size: Math.min(region.size, 4 * rows * states.stride) });
  return vectorsOf(bytes, states, rows);
}
