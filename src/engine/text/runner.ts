// A text model on a device: weights, KV pages, tapes for a few capacities, and the launch of one step. What it holds
// dies with the device; sequences and the schedule do not.

import { EngineError } from '../../files/error.ts';
import type { Checkpoint } from '../../files/checkpoint.ts';
import { packedKey, type PackedKey } from '../../files/quantized-cache.ts';
import { megabytes, type Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import type { Region } from '../../gpu/tensor.ts';
import { PAGE_TOKENS, TILE_ROWS, type KvFormat, type KvPages, type TextBatch } from '../../kernels/batch.ts';
import type { LlamaConfig } from '../../models/llama-config.ts';
import { llama, type TextForward } from '../../models/llama.ts';
import { ropeRows } from '../../models/rope.ts';
import { sample } from '../../kernels/sample.ts';
import { MOST_BIASES } from './request.ts';
import { openWeights, type LoadOptions } from '../weights.ts';
import { weightBytes } from './defaults.ts';
import { createReadback } from './readback.ts';
import { pagesFor, type Part } from './scheduler.ts';
import { createStepBuffers } from './step-buffers.ts';
import { writeStep } from './step.ts';

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
}

export interface Runner {
  device: Device;
  pages: number;
  contextLength: number;
  parameters: number;
  /** Compiles every kernel by running it once. */
  warmUp(onProgress: (done: number, total: number) => void): Promise<void>;
  /** A page that was never written must not hold NaN: called before steps that use pages up to `touched`. */
  clearPages(touched: number): void;
  /** Submits a step; resolves with the sampled tokens, in order. */
  launch(parts: readonly Part[]): Promise<Uint32Array>;
}

const SMALL_CAPACITIES = [1, 4, TILE_ROWS];
/** Pages cleared at a time. */
const CLEAR_RUN = 64;
/** A submit should stay well below what drivers take for a hang. */
const SUBMIT_MS = 100;

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
  await weights.load({ key: await cacheKey(checkpoint, device, quantized), onProgress, onNote });

  const { dims } = config.heads;
  const kvFormat = storedAsF32(checkpoint) && quantized === null ? 'f32' : 'f16';
  const slots = Math.ceil(options.slots / TILE_ROWS) * TILE_ROWS;
  const mostPages = Math.min(
    pagesFor(options.contextLength) * options.slots,
    Math.max(pagesFor(options.totalTokens), 2),
    Math.floor(device.capabilities.bindingLimit / pageBytes(config, kvFormat)),
  );
  const buffers = createStepBuffers(device, {
    rows: options.rows,
    tiles: options.rows,
    pages: Math.max(mostPages, pagesFor(options.contextLength)),
    sampled: slots,
    biases: MOST_BIASES * slots,
    slots,
    dims,
  });
  const capacities = [...SMALL_CAPACITIES.filter((rows) => rows < options.rows), options.rows];
  const record = (kv: KvPages[]): Tape[] =>
    capacities.map((rows) => recordTape(device, forward, buffers.batch, kv, rows, slots));
  // A first recording, on one page, tells what the arena needs; the rest of the budget is for pages.
  const probe = allocateKv(device, config, kvFormat, 1);
  record(probe);
  device.arena.settle();
  probe.forEach(({ keys, values }) => [keys, values].forEach(({ buffer }) => device.free(buffer)));
  const pages = Math.min(mostPages, fittingPages(device, config, kvFormat));
  const kv = allocateKv(device, config, kvFormat, pages);
  const tapes = record(kv);
  device.arena.settle();

  const rope = ropeRows(config.rope);
  const readback = createReadback(device, slots);
  const pace = createPace();
  let cleared = 0;

  return {
    device,
    pages,
    contextLength: Math.min(options.contextLength, pages * PAGE_TOKENS),
    parameters: weights.parameters(),
    warmUp: (progress) => warmUp(device, tapes, progress),
    clearPages(touched) {
      if (touched <= cleared) return;
      const to = Math.min(pages, Math.ceil(touched / CLEAR_RUN) * CLEAR_RUN);
      clearKv(device, kv, cleared, to, pageBytes(config, kvFormat));
      cleared = to;
    },
    async launch(parts) {
      const sizes = writeStep(buffers, parts, rope, dims);
      const tape = tapes.find(
        ({ capacity }) => capacity['rows']! >= sizes.rows && capacity['sampled']! >= sizes.sampled,
      )!;
      const staging = readback.next();
      const started = performance.now();
      tape.run(sizes, {
        submitEvery: pace.segments(sizes.rows),
        last: (encoder) => encoder.copyBufferToBuffer(buffers.batch.ids.buffer, 0, staging, 0, slots * 4),
      });
      const ids = await readback.read(staging, sizes.sampled);
      pace.took(sizes.rows, tape.segmentCount, performance.now() - started);
      const error = device.takeError();
      if (error !== null) throw error;
      return ids;
    },
  };
}

/** Room for intermediates and step data when memory is asked for. */
const RESERVE_BYTES = 2 ** 29;

/** Asks for full contexts in every slot, or else for one. */
async function reserveMemory(
  device: Device,
  checkpoint: Checkpoint,
  config: LlamaConfig,
  options: RunnerOptions,
): Promise<void> {
  const perContext = 2 * config.windows.length * pagesFor(options.contextLength) * pageBytes(config, 'f16');
  const least = weightBytes(checkpoint, options.quantization) + RESERVE_BYTES;
  if (await device.reserve(least + perContext * options.slots)) return;
  await device.reserve(least + perContext);
}

/** Changes whenever the packed layout does. */
const PACKED_LAYOUT = 'columns32-block32';

/** Only what is quantised is worth keeping: packing what is stored costs no more than reading it. */
async function cacheKey(
  checkpoint: Checkpoint,
  device: Device,
  quantized: string | null,
): Promise<PackedKey | null> {
  if (quantized === null) return null;
  const layout = `${PACKED_LAYOUT}-${device.capabilities.bindingLimit}`;
  return packedKey({ path: checkpoint.path, shards: checkpoint.shards, quantization: quantized, layout });
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

/** Bytes of a page's keys (or values) in one layer. */
function pageBytes(config: LlamaConfig, format: KvFormat): number {
  return PAGE_TOKENS * config.heads.kvHeads * config.heads.dims * (format === 'f16' ? 2 : 4);
}

function fittingPages(device: Device, config: LlamaConfig, format: KvFormat): number {
  const perPage = 2 * config.windows.length * pageBytes(config, format);
  const free = device.memoryBudget - device.memoryUsed;
  const pages = Math.floor(free / perPage) - 1;
  if (pages < 2) {
    throw new EngineError(
      'out_of_memory',
      `after the weights ${megabytes(Math.max(free, 0))} of the memory budget of ${megabytes(device.memoryBudget)} are left, and ` +
        `64 tokens of context need ${megabytes(3 * perPage)}: raise --memory-budget or choose --quantization int4`,
    );
  }
  return pages;
}

function allocateKv(device: Device, config: LlamaConfig, format: KvFormat, pages: number): KvPages[] {
  const region = (label: string): Region => {
    const buffer = device.allocate('kv', label, pages * pageBytes(config, format));
    return { buffer, offset: 0, size: buffer.size };
  };
  return config.windows.map((_, i) => ({
    format,
    keys: region(`keys of layer ${i}`),
    values: region(`values of layer ${i}`),
  }));
}

function clearKv(device: Device, kv: KvPages[], from: number, to: number, bytes: number): void {
  const encoder = device.gpu.createCommandEncoder();
  for (const { keys, values } of kv) {
    encoder.clearBuffer(keys.buffer, from * bytes, (to - from) * bytes);
    encoder.clearBuffer(values.buffer, from * bytes, (to - from) * bytes);
  }
  device.gpu.queue.submit([encoder.finish()]);
}

/** Each pipeline once, on one row of page 0, which nobody uses yet. */
async function warmUp(
  device: Device,
  tapes: Tape[],
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const sizes = { rows: 1, sampled: 1, tiles: 1, tileRows: 1 };
  const first = new Map(
    tapes.flatMap((tape) => tape.encodables(sizes)).map((encodable) => [encodable.pipeline, encodable]),
  );
  let done = 0;
  for (const { pipeline, bindGroup, groups } of first.values()) {
    onProgress(done++, first.size);
    const encoder = device.gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(...groups);
    pass.end();
    device.gpu.queue.submit([encoder.finish()]);
    await device.gpu.queue.onSubmittedWorkDone();
  }
  const error = device.takeError();
  if (error !== null) throw error;
  onProgress(done, first.size);
}

/** How many segments fit one submit, from what steps of about as many rows took. */
function createPace(): {
  segments(rows: number): number;
  took(rows: number, segments: number, ms: number): void;
} {
  const msPerSegment = new Map<number, number>();
  const bucket = (rows: number): number => Math.ceil(Math.log2(rows));
  return {
    segments: (rows) => {
      const ms = msPerSegment.get(bucket(rows));
      if (ms === undefined) return rows < TILE_ROWS ? Infinity : 1;
      return Math.max(1, Math.floor(SUBMIT_MS / ms));
    },
    took: (rows, segments, ms) => void msPerSegment.set(bucket(rows), ms / segments),
  };
}
