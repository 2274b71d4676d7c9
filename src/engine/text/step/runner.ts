// A text model on a device: weights, KV pages, tapes for a few capacities, and the launch of one step. What it holds
// dies with the device; sequences and the schedule do not.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import type { Device } from '../../../gpu/device.ts';
import {
  PAGE_TOKENS,
  TILE_ROWS,
  type KvFormat,
  type KvPages,
  type TextBatch,
} from '../../../kernels/batch.ts';
import type { TextDeclaration } from '../../../models/text/architecture.ts';
import { ropeSets } from '../../../models/text/rope.ts';
import { LOGPROB_WORDS } from '../../../kernels/logprobs.ts';
import type { PackedCache, PackedSlot } from '../../platform.ts';
import type { AdapterHost } from '../adapters.ts';
import { formatOf } from '../../weights/plan.ts';
import { unreadNote } from '../../weights/unread.ts';
import { openWeights, type LoadOptions } from '../../weights/weights.ts';
import { weightBytes } from '../defaults.ts';
import {
  allocateKv,
  createPageCleaner,
  fittingPages,
  pageBytes,
  usefulPages,
  type PageCleaner,
} from '../cache/kv-pages.ts';
import { createLoraHost } from '../lora-host.ts';
import { createPace } from './pace.ts';
import { createPageMover, type PageMover } from '../cache/page-mover.ts';
import { asksForPrompt, createPromptReader } from './prompt-logprobs.ts';
import { createReadback } from './readback.ts';
import { pagesFor } from '../cache/pages.ts';
import type { Part } from '../step-plan.ts';
import { createStepBuffers } from './step-buffers.ts';
import { createStepRecords } from './step-records.ts';
import { forget, recordStep, tapesOf, type StepTapes } from './step-tapes.ts';
import { createSampler } from './sampler.ts';
import { writeStep } from './step.ts';
import { warmUp } from './warm-up.ts';

export interface RunnerOptions {
  quantization: 'none' | 'int8' | 'int4';
  /** Tokens a request may have, if memory allows. */
  contextLength: number;
  /** Tokens of all pages together; Infinity: as memory allows. */
  totalTokens: number;
  /** Pages there must be; null: as many as are of use and fit. */
  pages: number | null;
  /** Sequences at once. */
  slots: number;
  /** Rows of the largest step. */
  rows: number;
  /** Biases of one choice, those on its end tokens included. */
  biases: number;
  /** Kept of each step for those who ask. */
  hiddenStates: boolean;
  routedExperts: boolean;
  /** Log probabilities are of what is sampled from, not of what the model says. */
  processedLogprobs: boolean;
  /** Told of who holds LoRA adapters before pages are allotted. */
  adapters: (host: AdapterHost) => Promise<void>;
  /** Where quantised weights are kept; null: nowhere. */
  packed: PackedCache | null;
  /** Weights get their bytes and are not read: for planning, where nothing is computed. */
  unread?: boolean;
}

/** The part of a checkpoint that a runner needs. */
export type RunnerCheckpoint = Pick<Checkpoint, 'path' | 'architecture' | 'tensors' | 'shards'>;

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
  kvFormat: KvFormat;
  /** Compiles a request's own function on logits. Throws bad_request. */
  checkProcessor(source: string): Promise<void>;
  /** Submits a step's forward pass; and its sampling, too, unless that is to wait until `draw` is called. */
  launch(parts: readonly Part[], options?: { drawLater?: boolean }): Launched;
}

export interface Launched {
  /** Resolves with what was sampled. */
  draw(): Promise<Drawn>;
  /** In place of `draw`, where sampling was to wait and nobody wants it any more. */
  drop(): void;
}

/** By sampled row, in order. */
export interface Drawn {
  ids: Uint32Array;
  /** LOGPROB_WORDS a row, those of rows that asked; empty where none did. */
  logprobs: Uint32Array;
}

const SMALL_CAPACITIES = [1, 4, TILE_ROWS];

export async function openRunner(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
  { onProgress, onNote }: Required<Pick<LoadOptions, 'onProgress' | 'onNote'>>,
): Promise<Runner> {
  const quantized = options.quantization === 'none' ? null : options.quantization;
  await reserveMemory(device, checkpoint, config, options);
  const weights = openWeights(device, checkpoint.tensors, config.generate!, {
    format: formatOf(options.quantization),
  });
  const model = weights.page;
  const unread = unreadNote(weights.unread, checkpoint.architecture);
  if (unread !== null) onNote(unread);
  const slot = await packedSlot(options.packed, checkpoint, device, quantized);
  if (!options.unread) await weights.load({ slot, onProgress, onNote });
  const loras = createLoraHost(device, weights.adaptable);
  await options.adapters(loras);

  const { dims } = config.rope;
  const kvFormat = storedAsF32(checkpoint) && quantized === null ? 'f32' : 'f16';
  const slots = Math.ceil(options.slots / TILE_ROWS) * TILE_ROWS;
  const mostPages = usefulPages(device, config.layers, kvFormat, options);
  const routeWords = config.experts ? config.experts.layers * config.experts.chosen : 0;
  const buffers = createStepBuffers(device, {
    rows: options.rows,
    tiles: options.rows,
    pages: options.slots * Math.min(mostPages, pagesFor(options.contextLength)),
    sampled: slots,
    biases: options.biases * slots,
    counts: Math.min(2 * Math.max(mostPages, 1) * PAGE_TOKENS, config.vocabulary * slots),
    slots,
    dims,
    ...(options.hiddenStates && { stateColumns: config.hidden }),
    ...(options.routedExperts && routeWords > 0 && { routeWords }),
  });
  const records = createStepRecords(device, buffers.batch, { hidden: config.hidden, routeWords });
  const capacities = [...SMALL_CAPACITIES.filter((rows) => rows < options.rows), options.rows];
  const sampler = createSampler(device, buffers.batch, { ...options, slots, vocabulary: config.vocabulary });
  const prompts = createPromptReader(device, model, { rows: options.rows, slots });
  const { batch } = buffers;
  const contextPages = pagesFor(options.contextLength);
  const record = (kv: KvPages[], rowAdapters: TextBatch['adapters'] | null): StepTapes[] =>
    capacities.map((rows) =>
      recordStep(device, { model, sampler, prompts, batch, kv, rows, slots, contextPages, rowAdapters }),
    );
  /** Of steps in which some row has an adapter: others must not pay for them. */
  const recordAdapted = (kv: KvPages[]): StepTapes[] =>
    loras.store.keys.length > 0 ? record(kv, batch.adapters) : [];
  // A first recording, on one page, tells what the arena needs; the rest of the budget is for pages.
  const probe = allocateKv(device, config.layers, kvFormat, 1);
  [...record(probe, null), ...recordAdapted(probe)].forEach(forget);
  device.arena.settle();
  probe.forEach(({ keys, values }) => [keys, values].forEach(({ buffer }) => device.free(buffer)));
  const mover = createPageMover(device, pageBytes(config.layers, kvFormat));
  const pages = options.pages ?? Math.min(mostPages, fittingPages(device, config.layers, kvFormat));
  const kv = allocateKv(device, config.layers, kvFormat, pages);
  mover.use(kv, pages);
  const recordings = record(kv, null);
  let adapted = recordAdapted(kv);
  device.arena.settle();
  loras.changed = () => {
    adapted.forEach(forget);
    adapted = recordAdapted(kv);
    device.arena.settle();
  };

  const rope = ropeSets(config.rope, buffers.words.turns);
  const readback = createReadback(device, [buffers.batch.ids, sampler.logprobs]);
  const pace = createPace();

  return {
    device,
    pages,
    rows: options.rows,
    contextLength: Math.min(options.contextLength, pages * PAGE_TOKENS),
    parameters: weights.parameters,
    warmUp: (progress) => warmUp(device, [...recordings, ...adapted].flatMap(tapesOf), progress),
    pageCleaner: createPageCleaner(device, kv, pages),
    movePages: mover.move,
    readPages: mover.read,
    pageBytes: mover.bytes,
    kvFormat,
    checkProcessor: sampler.processors.check,
    launch(parts, { drawLater = false } = {}) {
      const sizes = writeStep(buffers, parts, rope, (source) => sampler.processors.of(source).id);
      const isAdapted = parts.some(({ sequence }) => sequence.request.adapter !== null);
      const { forward, drawing, head } = (isAdapted ? adapted : recordings).find(
        ({ forward: { capacity } }) =>
          capacity['rows']! >= sizes.rows && capacity['sampled']! >= sizes.sampled,
      )!;
      const sampled = parts.filter(({ samples }) => samples).map(({ sequence }) => sequence);
      const masked = sampled.filter(({ needsMask }) => needsMask);
      const asked = sampled.some(({ request }) => request.sampling.logprobs !== null);
      const started = performance.now();
      let read!: () => Promise<Uint32Array[]>;
      const draw = (encoder: GPUCommandEncoder): void => {
        if (sampled.length > 0) drawing.encode(encoder, sampled, masked);
        read = readback.copy(encoder, [4 * sampled.length, asked ? 4 * LOGPROB_WORDS * sampled.length : 0]);
      };
      const finish = async (): Promise<Drawn> => {
        const [ids, logprobs] = await read();
        await told?.();
        await recorded?.();
        if (!told) pace.took(sizes.rows, forward.segmentCount, performance.now() - started);
        const error = device.takeError();
        if (error !== null) throw error;
        return { ids: ids!, logprobs: logprobs! };
      };
      const drawAlone = (): void => {
        const encoder = device.gpu.createCommandEncoder();
        draw(encoder);
        device.gpu.queue.submit([encoder.finish()]);
      };
      // The states that a prompt's tokens are told from make room for what drawing needs.
      const together = !drawLater && !asksForPrompt(parts);
      forward.run(sizes, { submitEvery: pace.segments(sizes.rows), ...(together ? { last: draw } : {}) });
      const told = prompts.take(head, parts);
      if (!drawLater && !together) drawAlone();
      const recorded = records.take(parts, sizes);
      if (!drawLater) {
        const drawn = finish();
        return { draw: () => drawn, drop: () => {} };
      }
      const settled = loras.hold();
      return {
        draw() {
          try {
            drawAlone();
          } finally {
            settled();
          }
          return finish();
        },
        drop: settled,
      };
    },
  };
}

/** Room for intermediates and step data when memory is asked for. */
const RESERVE_BYTES = 2 ** 29;

/** Asks for all pages of use, or else for one context. */
async function reserveMemory(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
): Promise<void> {
  const perPage = pageBytes(config.layers, 'f16');
  const least = weightBytes(checkpoint, options.quantization) + RESERVE_BYTES;
  if (await device.reserve(least + perPage * usefulPages(device, config.layers, 'f16', options))) return;
  await device.reserve(least + perPage * pagesFor(options.contextLength));
}

/** Changes whenever the packed layout or the rule of quantising does, or what is checked before packing. */
const PACKED_LAYOUT = 'columns32-block32-checked-exact';

/** Only what is quantised is worth keeping: packing what is stored costs no more than reading it. */
async function packedSlot(
  packed: PackedCache | null,
  checkpoint: RunnerCheckpoint,
  device: Device,
  quantized: string | null,
): Promise<PackedSlot | null> {
  if (quantized === null || packed === null) return null;
  const layout = `${PACKED_LAYOUT}-${device.capabilities.bindingLimit}`;
  return packed.slot({ path: checkpoint.path, shards: checkpoint.shards, quantization: quantized, layout });
}

function storedAsF32(checkpoint: RunnerCheckpoint): boolean {
  return [...checkpoint.tensors.values()].every(({ dtype }) => dtype === 'F32');
}
