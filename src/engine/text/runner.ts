// A text model on a device: weights, KV pages, tapes for a few capacities, and the launch of one step. What it holds
// dies with the device; sequences and the schedule do not.

import type { Checkpoint } from '../../files/checkpoint.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import { PAGE_TOKENS, TILE_ROWS, type KvPages, type TextBatch } from '../../kernels/batch.ts';
import { expertLayers } from '../../models/experts-config.ts';
import type { LlamaConfig } from '../../models/llama-config.ts';
import { llama, type TextForward } from '../../models/llama.ts';
import { ropeSets } from '../../models/rope.ts';
import { sample } from '../../kernels/sample.ts';
import type { PackedCache, PackedSlot } from '../platform.ts';
import { MOST_BIASES } from './text-rules.ts';
import { openWeights, type LoadOptions } from '../weights.ts';
import { weightBytes } from './defaults.ts';
import {
  allocateKv,
  createPageCleaner,
  fittingPages,
  pageBytes,
  usefulPages,
  type PageCleaner,
} from './kv-pages.ts';
import { createPace } from './pace.ts';
import { createPageMover, type PageMover } from './page-mover.ts';
import { createReadback } from './readback.ts';
import { pagesFor, type Part } from './scheduler.ts';
import { createStepBuffers } from './step-buffers.ts';
import { createStepRecords } from './step-records.ts';
import { writeStep } from './step.ts';
import { warmUp } from './warm-up.ts';

export interface RunnerOptions {
  quantization: 'none' | 'int8' | 'int4';
  /** Tokens a request may have, if memory allows. */
  contextLength: number;
  /** Tokens of all pages together; Infinity: as memory allows. */
  totalTokens: number;
  /** Sequences at once. */
  slots: number;
  /** Rows of the largest step. */
  rows: number;
  /** Kept of each step for those who ask. */
  hiddenStates: boolean;
  routedExperts: boolean;
  /** Where quantised weights are kept; null: nowhere. */
  packed: PackedCache | null;
}

export interface Runner {
  device: Device;
  pages: number;
  /** Rows of the largest step. */
  rows: number;
  contextLength: number;
  parameters: number;
  /** Compiles every kernel by running it once. */
  warmUp(onProgress: (done: number, total: number) => void): Promise<void>;
  pageCleaner: PageCleaner;
  /** Copies within the device and from outside it, ahead of the steps submitted later. */
  movePages: PageMover['move'];
  /** Bytes of pages as they are after the steps submitted so far. */
  readPages: PageMover['read'];
  /** Bytes of a page in all layers. */
  pageBytes: number;
  /** Submits a step; resolves with the sampled tokens, in order. */
  launch(parts: readonly Part[]): Promise<Uint32Array>;
}

const SMALL_CAPACITIES = [1, 4, TILE_ROWS];

export async function openRunner(
  device: Device,
  checkpoint: Checkpoint,
  config: LlamaConfig,
  options: RunnerOptions,
  { onProgress, onNote }: Required<Pick<LoadOptions, 'onProgress' | 'onNote'>>,
): Promise<Runner> {
  const quantized = options.quantization === 'none' ? null : options.quantization;
  await reserveMemory(device, checkpoint, config, options);
  const weights = openWeights(device, checkpoint.tensors, quantized);
  const forward = llama(config, weights);
  await weights.load({
    slot: await packedSlot(options.packed, checkpoint, device, quantized),
    onProgress,
    onNote,
  });

  const { dims } = config.heads;
  const kvFormat = storedAsF32(checkpoint) && quantized === null ? 'f32' : 'f16';
  const slots = Math.ceil(options.slots / TILE_ROWS) * TILE_ROWS;
  const mostPages = usefulPages(device, config, kvFormat, options);
  const routeWords = expertLayers(config.experts) * (config.experts?.chosen ?? 0);
  const buffers = createStepBuffers(device, {
    rows: options.rows,
    tiles: options.rows,
    pages: options.slots * Math.min(mostPages, pagesFor(options.contextLength)),
    sampled: slots,
    biases: MOST_BIASES * slots,
    slots,
    dims,
    ...(options.hiddenStates && { stateColumns: config.hidden }),
    ...(options.routedExperts && routeWords > 0 && { routeWords }),
  });
  const records = createStepRecords(device, buffers.batch, { hidden: config.hidden, routeWords });
  const capacities = [...SMALL_CAPACITIES.filter((rows) => rows < options.rows), options.rows];
  const record = (kv: KvPages[]): Tape[] =>
    capacities.map((rows) => recordTape(device, forward, buffers.batch, kv, rows, slots));
  // A first recording, on one page, tells what the arena needs; the rest of the budget is for pages.
  const probe = allocateKv(device, config, kvFormat, 1);
  for (const tape of record(probe)) tape.destroy();
  device.arena.settle();
  probe.forEach(({ keys, values }) => [keys, values].forEach(({ buffer }) => device.free(buffer)));
  const bytes = pageBytes(config, kvFormat);
  const mover = createPageMover(device, bytes, config.windows.length);
  const pages = Math.min(mostPages, fittingPages(device, config, kvFormat));
  const kv = allocateKv(device, config, kvFormat, pages);
  mover.use(kv);
  const tapes = record(kv);
  device.arena.settle();

  const rope = ropeSets(config.rope, buffers.words.turns);
  const readback = createReadback(device, slots);
  const pace = createPace();

  return {
    device,
    pages,
    rows: options.rows,
    contextLength: Math.min(options.contextLength, pages * PAGE_TOKENS),
    parameters: weights.parameters(),
    warmUp: (progress) => warmUp(device, tapes, progress),
    pageCleaner: createPageCleaner(device, kv, pages, bytes),
    movePages: mover.move,
    readPages: mover.read,
    pageBytes: mover.bytes,
    async launch(parts) {
      const sizes = writeStep(buffers, parts, rope);
      const tape = tapes.find(
        ({ capacity }) => capacity['rows']! >= sizes.rows && capacity['sampled']! >= sizes.sampled,
      )!;
      const staging = readback.next();
      const started = performance.now();
      tape.run(sizes, {
        submitEvery: pace.segments(sizes.rows),
        last: (encoder) => encoder.copyBufferToBuffer(buffers.batch.ids.buffer, 0, staging, 0, slots * 4),
      });
      const recorded = records.take(parts, sizes);
      const ids = await readback.read(staging, sizes.sampled);
      await recorded?.();
      pace.took(sizes.rows, tape.segmentCount, performance.now() - started);
      const error = device.takeError();
      if (error !== null) throw error;
      return ids;
    },
  };
}

/** Room for intermediates and step data when memory is asked for. */
const RESERVE_BYTES = 2 ** 29;

/** Asks for all pages of use, or else for one context. */
async function reserveMemory(
  device: Device,
  checkpoint: Checkpoint,
  config: LlamaConfig,
  options: RunnerOptions,
): Promise<void> {
  const perPage = 2 * config.windows.length * pageBytes(config, 'f16');
  const least = weightBytes(checkpoint, options.quantization) + RESERVE_BYTES;
  if (await device.reserve(least + perPage * usefulPages(device, config, 'f16', options))) return;
  await device.reserve(least + perPage * pagesFor(options.contextLength));
}

/** Changes whenever the packed layout does. */
const PACKED_LAYOUT = 'columns32-block32';

/** Only what is quantised is worth keeping: packing what is stored costs no more than reading it. */
async function packedSlot(
  packed: PackedCache | null,
  checkpoint: Checkpoint,
  device: Device,
  quantized: string | null,
): Promise<PackedSlot | null> {
  if (quantized === null || packed === null) return null;
  const layout = `${PACKED_LAYOUT}-${device.capabilities.bindingLimit}`;
  return packed.slot({ path: checkpoint.path, shards: checkpoint.shards, quantization: quantized, layout });
}

/** Small tapes take as many sampled rows as rows; the large one as many as there are slots. */
function recordTape(
  device: Device,
  forward: TextForward,
  batch: TextBatch,
  kv: KvPages[],
  rows: number,
  slots: number,
): Tape {
  const sampled = Math.min(rows, slots);
  const tape = new Tape(device, { rows, sampled, tiles: rows, tileRows: TILE_ROWS });
  const logits = forward(tape, batch, kv);
  tape.cut();
  sample(logits, batch);
  tape.finish();
  return tape;
}

function storedAsF32(checkpoint: Checkpoint): boolean {
  return [...checkpoint.tensors.values()].every(({ dtype }) => dtype === 'F32');
}
