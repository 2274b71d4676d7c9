// The Runner implementation: step buffers, layer stores, tapes, and the launch of one step.

import { EngineError } from '../../../files/error.ts';
import type { Device } from '../../../gpu/device.ts';
import type { ReplayOptions } from '../../../gpu/replay.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Sizes } from '../../../gpu/tensor.ts';
import { PAGE_TOKENS, type KvFormat, type TextBatch } from '../../../kernels/batch.ts';
import { LOGPROB_WORDS } from '../../../kernels/logprobs.ts';
import type { LanguageModel, TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import { ropeWords } from '../../../models/text/blocks/rope.ts';
import {
  createPageCleaner,
  fittingPages,
  stateCopies,
  statesBeside,
  usefulPages,
  type PageCleaner,
} from '../kv/kv-pages.ts';
import { LayerStores, roundedSlots, slotBytes, stateBytes } from '../kv/layer-stores.ts';
import { pageLayout, type PageLayout } from '../kv/page-layout.ts';
import { PageMover, type PageMoves } from '../kv/page-mover.ts';
import { pagesFor } from '../kv/pages.ts';
import { StateMover } from '../kv/state-mover.ts';
import type { DeviceLoras } from '../lora/lora-host.ts';
import type { Towers } from '../towers/towers.ts';
import { phaseOf, type StepPart } from './step-part.ts';
import type { Weights } from '../../weights/weights.ts';
import { compileTapes, type OnKernels } from '../../tuning/compile.ts';
import type { Tuned, TuneOptions } from '../../tuning/tune.ts';
import { BatchWriter } from './batch-writer.ts';
import { createPace } from '../towers/pace.ts';
import { asksForPrompt, createPromptReader, type PromptReader } from './prompt-logprobs.ts';
import { createReadback, type Readback } from './readback.ts';
import { Recordings } from './recordings.ts';
import type { Drawn, Launched, Runner, RunnerOptions } from './runner.ts';
import { createSampler, type Sampler } from './sampler.ts';
import { createStepBuffers, type StepBuffers } from './step-buffers.ts';
import { createStepRecords, type StepRecords } from './step-records.ts';
import { writeStep } from './step.ts';
import { writeTypicalStep } from './typical-step.ts';

export interface RunnerParts {
  model: LanguageModel;
  weights: Pick<Weights<unknown>, 'parameters' | 'formats'>;
  streaming: readonly string[];
  kvFormat: KvFormat;
  loras: DeviceLoras;
  towers: Towers | null;
}

export class TextRunner implements Runner {
  readonly device: Device;
  readonly pages: number;
  readonly rows: number;
  readonly decodeRows: number | null;
  readonly contextLength: number;
  readonly parameters: number;
  readonly weightFormats: readonly string[];
  readonly streaming: readonly string[];
  readonly pageCleaner: PageCleaner;
  readonly layout: PageLayout;
  readonly pageBytes: number;
  readonly copies: number;
  readonly copyBytes: number;
  readonly stateBytes: number;
  readonly kvFormat: KvFormat;
  readonly towers: Towers | null;
  readonly #slots: number;
  readonly #batch: TextBatch;
  readonly #loras: DeviceLoras;
  readonly #sampler: Sampler;
  readonly #prompts: PromptReader;
  readonly #records: StepRecords;
  readonly #writer: BatchWriter;
  readonly #mover: PageMover;
  readonly #states: StateMover;
  readonly #recordings: Recordings;
  readonly #readback: Readback;
  readonly #pace = createPace();

  constructor(device: Device, config: TextDeclaration, options: RunnerOptions, parts: RunnerParts) {
    const { model, weights, kvFormat, loras } = parts;
    const { parameters, formats: weightFormats } = weights;
    const { layers, vocabulary, hidden, experts } = config;
    const slots = roundedSlots(options.slots);
    const { kept } = options;
    const layout = kept?.layout ?? pageLayout(layers, kvFormat, options, device.capabilities.bindingLimit);
    const mostPages = usefulPages(device, layout, options);
    const routeWords = experts ? experts.layers * experts.chosen : 0;
    const buffers = stepBuffers(device, config, options, {
      ...{ slots, layout, mostPages, routeWords },
      takesRows: parts.towers !== null,
    });
    const { batch } = buffers;
    this.device = device;
    this.rows = options.rows;
    this.parameters = parameters;
    this.weightFormats = weightFormats;
    this.streaming = parts.streaming;
    this.kvFormat = kvFormat;
    this.layout = layout;
    this.pageBytes = layout.pageBytes;
    this.towers = parts.towers;
    this.#slots = options.slots;
    this.#batch = batch;
    this.#loras = loras;
    this.#records = createStepRecords(device, batch, { hidden, routeWords });
    this.#sampler = createSampler(device, batch, { ...options, slots, vocabulary });
    this.#prompts = createPromptReader(device, model, { rows: options.rows, slots });
    this.#writer = new BatchWriter(buffers, config);
    const recipe = {
      ...{ model, sampler: this.#sampler, prompts: this.#prompts, batch, slots },
      contextPages: pagesFor(options.contextLength),
    };
    const storesOf = (pages: number): LayerStores =>
      new LayerStores(device, layers, { format: kvFormat, layout, pages, tables: buffers.tables, slots });
    // A first recording with one page gives the size of the arena; the rest of the budget is for pages.
    const probe = storesOf(1);
    const slotsBefore = device.arena.mark();
    new Recordings(device, recipe, options, probe.all, loras).destroy();
    device.arena.rewind(slotsBefore);
    probe.free();
    this.copyBytes = slotBytes(layers);
    this.stateBytes = stateBytes(layers, slots);
    const states = statesBeside(layers, layout, slots);
    const rowBytes = parts.towers?.rowBytes ?? 0;
    const extra = (count: number): number => states(count) + rowBytes;
    this.pages = kept?.pages ?? Math.min(mostPages, fittingPages(device, layout, extra));
    this.copies = stateCopies(this.pages, layout, this.copyBytes);
    this.contextLength = Math.min(options.contextLength, layout.contextWithin(this.pages));
    const stores = storesOf(this.pages);
    this.pageCleaner = createPageCleaner(device, stores.pageBuffers, this.pages);
    this.#mover = new PageMover(device, layout.pageBytes);
    this.#mover.use(stores.pageBuffers, this.pages);
    this.#states = new StateMover(device, stores.slots, slots, this.copies);
    const recordings = new Recordings(device, recipe, options, stores.all, loras);
    loras.changed = () => recordings.recordAdapted();
    this.#recordings = recordings;
    this.decodeRows = recordings.decodeRows;
    this.#readback = createReadback(device, [batch.ids, this.#sampler.logprobs]);
  }

  warmUp(onProgress: OnKernels): Promise<void> {
    return compileTapes(this.device, this.#recordings.tapes, onProgress);
  }

  tune(options: Omit<TuneOptions, 'step'>): Promise<Tuned[]> {
    const { pages, contextLength, layout } = this;
    const memory = { slots: this.#slots, pages, groups: layout.groups.length, contextLength };
    return this.#recordings.tune(options, (rows, phase) =>
      writeTypicalStep(this.#writer, { rows, phase }, memory),
    );
  }

  movePages(moves: PageMoves): void {
    this.#mover.move(moves);
    this.#states.move(moves.states);
  }

  readPages(pages: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    return this.#mover.read(pages);
  }

  readStates(copies: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    return this.#states.read(copies);
  }

  checkProcessor(source: string): Promise<void> {
    return this.#sampler.processors.check(source);
  }

  launch(parts: readonly StepPart[], { drawLater = false } = {}): Launched {
    const phase = this.decodeRows === null ? null : phaseOf(parts[0]!);
    const sizes = writeStep(
      this.#writer,
      { parts, phase },
      (source) => this.#sampler.processors.of(source).id,
    );
    this.towers?.copyRows(parts, this.#batch);
    const isAdapted = parts.some(({ sequence }) => sequence.request.lora !== null);
    const { forward, drawing, head } = this.#recordings.find(sizes, phase, isAdapted);
    const sampled = parts.filter(({ samples }) => samples).map(({ sequence }) => sequence);
    const masked = sampled.filter(({ needsMask }) => needsMask);
    const asked = sampled.some(({ request }) => request.sampling.logprobs !== null);
    const started = performance.now();
    let read!: () => Promise<Uint32Array[]>;
    const draw = (encoder: GPUCommandEncoder): void => {
      if (sampled.length > 0) drawing.encode(encoder, sampled, masked);
      const sizesRead = [4 * sampled.length, asked ? 4 * LOGPROB_WORDS * sampled.length : 0];
      read = this.#readback.copy(encoder, sizesRead);
    };
    const drawAlone = (): void => {
      const encoder = this.device.gpu.createCommandEncoder();
      draw(encoder);
      this.device.gpu.queue.submit([encoder.finish()]);
    };
    // Log probabilities of prompts reuse the buffers of sampling, so sampling is submitted separately.
    const together = !drawLater && !asksForPrompt(parts);
    const submitEvery = this.#pace.segments(sizes.rows);
    let ofPrompts: ReturnType<PromptReader['take']> = null;
    let recorded: ReturnType<StepRecords['take']> = null;
    const follow = (): void => {
      ofPrompts = this.#prompts.take(head, parts);
      if (!drawLater && !together) drawAlone();
      recorded = this.#records.take(parts, sizes);
    };
    const submitted = this.#forward(
      forward,
      sizes,
      { submitEvery, ...(together ? { last: draw } : {}) },
      follow,
    );
    const finish = async (): Promise<Drawn> => {
      await submitted;
      const [ids, logprobs] = await read();
      await ofPrompts?.();
      await recorded?.();
      if (!ofPrompts) this.#pace.took(sizes.rows, forward.segmentCount, performance.now() - started);
      const error = this.device.takeError();
      if (error !== null) throw error;
      return { ids: ids!, logprobs: logprobs! };
    };
    if (drawLater) return { submitted, ...this.#drawnLater(drawAlone, finish) };
    const drawn = finish();
    return { submitted, draw: () => drawn, drop: () => {} };
  }

  /**
   * Submits a forward pass and then what `follow` submits. Returns null, or where it waits for a file, a promise; LoRA factors do not
   * change until that resolves.
   */
  #forward(forward: Tape, sizes: Sizes, options: ReplayOptions, follow: () => void): Promise<void> | null {
    if (!forward.readsFiles) {
      forward.run(sizes, options);
      follow();
      return null;
    }
    const release = this.#loras.hold();
    const submitted = forward.replay(sizes, options).catch((error: unknown) => {
      // Weights that cannot be read are packed again where the model is loaded on another device.
      if (error instanceof EngineError) this.device.destroy(error.message);
      throw error;
    });
    return submitted.then(follow).finally(release);
  }

  /** LoRA factors do not change until the step is sampled or dropped. */
  #drawnLater(drawAlone: () => void, finish: () => Promise<Drawn>): Pick<Launched, 'draw' | 'drop'> {
    const release = this.#loras.hold();
    return {
      draw() {
        try {
          drawAlone();
        } finally {
          release();
        }
        return finish();
      },
      drop: release,
    };
  }
}

function stepBuffers(
  device: Device,
  { ropes, layers, inputs, hidden, vocabulary }: TextDeclaration,
  options: RunnerOptions,
  sizes: { slots: number; layout: PageLayout; mostPages: number; routeWords: number; takesRows: boolean },
): StepBuffers {
  const { slots, layout, mostPages, routeWords } = sizes;
  const contextPages = pagesFor(options.contextLength);
  const isWindowed = layout.windows.some((window) => window !== null);
  return createStepBuffers(device, {
    rows: options.rows,
    tiles: options.rows,
    // A table has an entry for each page of a context, including those released by then.
    pages: options.slots * (isWindowed ? contextPages : Math.min(mostPages, contextPages)),
    scales: layout.groups.map(({ scale }) => scale),
    sampled: slots,
    biases: options.biases * slots,
    counts: Math.min(2 * Math.max(mostPages, 1) * PAGE_TOKENS, vocabulary * slots),
    slots,
    ropeWords: ropeWords(ropes),
    model: inputs,
    ...(sizes.takesRows && { inputs: { rows: options.rows, columns: hidden, deep: inputs.deep ?? 0 } }),
    ...(layers.some(({ kind }) => kind === 'slot') && { sequences: slots }),
    ...(options.hiddenStates && { stateColumns: hidden }),
    ...(options.routedExperts && routeWords > 0 && { routeWords }),
  });
}
