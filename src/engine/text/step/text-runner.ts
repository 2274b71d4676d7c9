// A text model on a device: step buffers, layer stores, tapes. A runner ends with its device; sequences and the schedule outlive it.

import type { Device } from '../../../gpu/device.ts';
import { PAGE_TOKENS, type KvFormat } from '../../../kernels/batch.ts';
import { expandedCapacity, expandedEnd, type ExpandedCapacity } from '../../../kernels/latent-expansion.ts';
import type { LatentShape } from '../../../kernels/latent-kv.ts';
import type { LanguageModel, TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import { ropeWords } from '../../../models/text/blocks/rope.ts';
import { fittingPages, stateCopies, statesBeside, usefulPages, PageCleaner } from '../kv/kv-pages.ts';
import { LayerStores, roundedSlots, slotBytes, stateBytes } from '../kv/layer-stores.ts';
import { pageLayout, type PageLayout } from '../kv/page-layout.ts';
import { PageMover, type PageMoves } from '../kv/page-mover.ts';
import { pagesFor } from '../kv/pages.ts';
import { StateMover } from '../kv/state-mover.ts';
import type { DeviceLoras } from '../lora/lora-host.ts';
import type { Towers } from '../towers/towers.ts';
import type { HostedExperts } from '../../weights/hosted-experts.ts';
import type { Weights } from '../../weights/weights.ts';
import { compileTapes, type OnKernels } from '../../tuning/compile.ts';
import type { Tuned, TuneOptions } from '../../tuning/tune.ts';
import { BatchWriter } from './batch-writer.ts';
import { StepLauncher } from './launch.ts';
import { PromptReader } from './prompt-logprobs.ts';
import { Recordings } from './recordings.ts';
import type { DraftSizes, RunnerDrafts } from './runner-drafts.ts';
import { backedUpSlots, DRAFT_COUNTS, type RunnerOptions } from './runner-options.ts';
import { Sampler } from './sampler.ts';
import { createStepBuffers, type StepBuffers } from './step-buffers.ts';
import { SourceReader } from './source-reader.ts';
import type { Expansion } from './step-part.ts';
import { StepRecords } from './step-records.ts';

export interface RunnerParts {
  model: LanguageModel;
  weights: Pick<Weights<unknown>, 'parameters' | 'formats' | 'slots'>;
  streaming: readonly string[];
  kvFormat: KvFormat;
  loras: DeviceLoras;
  towers: Towers | null;
  /** Makes the draft model; null: there is none. */
  drafts: ((sizes: DraftSizes) => RunnerDrafts) | null;
}

export class TextRunner {
  readonly device: Device;
  readonly pages: number;
  /** Rows of the largest step. */
  readonly rows: number;
  /** Rows of the largest step of tokens after prompts, which has no rows of prompts; null: steps may have both. */
  readonly decodeRows: number | null;
  readonly contextLength: number;
  readonly parameters: number;
  /** See TextModelInfo. */
  readonly weightFormats: readonly string[];
  /** Sentences about the weights that are not on the device; none: all are. */
  readonly streaming: readonly string[];
  readonly pageCleaner: Pick<PageCleaner, keyof PageCleaner>;
  readonly layout: PageLayout;
  /** Bytes of a page in all lanes. */
  readonly pageBytes: number;
  /** Limit on the rows that a step samples. */
  readonly sampledRows: number;
  /** Copies of fixed states that the device has room for, beside one for each slot where steps compute drafts; 0: no layer has one. */
  readonly copies: number;
  /** Bytes of a copy. */
  readonly copyBytes: number;
  /** Bytes of the fixed states of all slots, without copies. */
  readonly stateBytes: number;
  readonly kvFormat: KvFormat;
  /** null: the model takes text only. */
  readonly towers: Towers | null;
  /** Reads the sources of sequences; null: the model has none. */
  readonly sources: SourceReader | null;
  /** null: there is none. */
  readonly drafts: RunnerDrafts | null;
  /** How prompts are divided into rows that see expanded keys and values and others; null: there are none of these. */
  readonly expansion: Expansion | null;
  /** Experts in host memory that have slots on the device. */
  readonly expertSlots: Pick<HostedExperts, 'metrics'>;
  readonly launcher: StepLauncher;
  readonly #slots: number;
  readonly #sampler: Sampler;
  readonly #writer: BatchWriter;
  readonly #mover: PageMover;
  readonly #states: StateMover;
  readonly #recordings: Recordings;

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
    const { sums } = options;
    const batch = { ...buffers.batch, sums };
    this.device = device;
    this.rows = options.rows;
    this.parameters = parameters;
    this.weightFormats = weightFormats;
    this.streaming = parts.streaming;
    this.kvFormat = kvFormat;
    this.layout = layout;
    this.pageBytes = layout.pageBytes;
    this.towers = parts.towers;
    this.expertSlots = weights.slots;
    this.#slots = options.slots;
    this.sampledRows = slots;
    const records = new StepRecords(device, batch, { hidden, routeWords });
    const sampler = (this.#sampler = new Sampler(device, batch, { ...options, slots, vocabulary }));
    const prompts = new PromptReader(device, model, { rows: options.rows, slots });
    const writer = (this.#writer = new BatchWriter(buffers, config));
    const contextPages = pagesFor(options.contextLength);
    const targetLayers = layers.length - (options.draft?.declaration.layers.length ?? 0);
    const drafts = parts.drafts?.({ layout, targetLayers, slots, rows: options.rows, contextPages }) ?? null;
    this.drafts = drafts;
    const sources = (this.sources = sourceReader(device, config, { model, texts: slots, format: kvFormat }));
    const expanded = expandedBy(device, config, contextPages);
    this.expansion = expanded && expansionOf(config.latents!, expanded, options.rows);
    const recipe = {
      ...{ model, sampler, prompts, batch, slots, contextPages, expanded },
      taken: drafts?.declaration.taken ?? null,
    };
    const storesOf = (pages: number): LayerStores =>
      new LayerStores(device, layers, { format: kvFormat, layout, pages, tables: buffers.tables, slots });
    // A first recording with one page gives the size of the arena; the rest of the budget is for pages.
    const probe = storesOf(1);
    const slotsBefore = device.arena.mark();
    new Recordings(device, recipe, options, probe.all, loras).destroy();
    drafts?.record(probe.all);
    drafts?.forget();
    sources?.record(probe.all);
    sources?.forget();
    device.arena.rewind(slotsBefore);
    probe.free();
    this.copyBytes = slotBytes(layers);
    this.stateBytes = stateBytes(layers, slots);
    const backups = backedUpSlots(slots, options);
    const states = statesBeside(layers, layout, slots, backups);
    const rowBytes = parts.towers?.rowBytes ?? 0;
    const extra = (count: number): number => states(count) + rowBytes;
    this.pages = kept?.pages ?? Math.min(mostPages, fittingPages(device, layout, extra));
    this.copies = stateCopies(this.pages, layout, this.copyBytes);
    this.contextLength = Math.min(options.contextLength, layout.contextWithin(this.pages));
    const stores = storesOf(this.pages);
    this.pageCleaner = new PageCleaner(device, stores.pageBuffers, this.pages);
    this.#mover = new PageMover(device, layout.pageBytes);
    this.#mover.use(stores.pageBuffers);
    this.#states = new StateMover(device, stores.slots, slots, this.copies + backups);
    const recordings = new Recordings(device, recipe, options, stores.all, loras);
    loras.changed = () => recordings.recordAdapted();
    drafts?.record(stores.all);
    sources?.record(stores.all);
    this.#recordings = recordings;
    this.decodeRows = recordings.decodeRows;
    // All ranks compute the same log probabilities and states; the first rank alone reports them.
    const told = sums && sums.rank > 0 ? NOTHING_TOLD : { prompts, records };
    const taken = drafts?.targets ?? null;
    const tools = { batch, writer, recordings, sampler, ...told, loras, towers: parts.towers, taken };
    this.launcher = new StepLauncher(device, tools);
  }

  /** Compiles the kernels that a first request needs. */
  async warmUp(onProgress: OnKernels): Promise<void> {
    await this.#recordings.warmUp(onProgress);
    if (this.drafts) await compileTapes(this.device, this.drafts.tapes, onProgress);
    if (this.sources) await compileTapes(this.device, this.sources.tapes, onProgress);
  }

  /** The most rows of the next step where so many are to be computed. */
  mostRows(wanted: number): number {
    return this.#recordings.mostRows(wanted);
  }

  /** Compiles the others one after another until `stops`; never rejects, because a step that needs a kernel fails by itself where it does not compile. */
  async warmLater(stops: () => boolean): Promise<void> {
    try {
      while (!stops() && (await this.#recordings.compileNext())) continue;
    } catch {
      // The device is lost or has an error, which the next step meets.
    }
  }

  /** Times the variants of kernels for steps of each capacity; before the first step. */
  tune(options: Omit<TuneOptions, 'step'>): Promise<Tuned[]> {
    const { pages, contextLength, layout } = this;
    const memory = { slots: this.#slots, pages, groups: layout.groups.length, contextLength };
    return this.#recordings.tune(options, this.#writer, memory);
  }

  /** Copies pages and fixed states within the device and from host memory, before the steps that are submitted later. */
  movePages(moves: PageMoves): void {
    this.#mover.move(moves);
    this.#states.move(moves.states);
  }

  /** Returns the bytes of pages after the steps submitted so far. */
  readPages(pages: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    return this.#mover.read(pages);
  }

  /** Returns the bytes of copies of fixed states after the steps submitted so far. */
  readStates(copies: readonly number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    return this.#states.read(copies);
  }

  /** Compiles a request's own function on logits. Throws bad_request. */
  checkProcessor(source: string): Promise<void> {
    return this.#sampler.processors.check(source);
  }
}

function sourceReader(
  device: Device,
  { source, widest }: TextDeclaration,
  { model, ...sizes }: { model: LanguageModel; texts: number; format: KvFormat },
): SourceReader | null {
  return source && model.readSources
    ? new SourceReader(device, { source, widest }, model.readSources, sizes)
    : null;
}

/** The pages of latents that steps of prompts may expand to keys and values; null: the model has no latents, or the device runs prompts and generated tokens in one step. */
function expandedBy(
  device: Device,
  { latents }: TextDeclaration,
  contextPages: number,
): ExpandedCapacity | null {
  if (!latents || device.profile.matvecRows === null) return null;
  const capacity = expandedCapacity(device, latents, contextPages);
  return capacity.segmentPages > 0 ? capacity : null;
}

function expansionOf(
  latents: LatentShape,
  { expandedPages: pages }: ExpandedCapacity,
  rows: number,
): Expansion {
  const limits = { most: rows, tokens: pages * PAGE_TOKENS };
  return { pages, endOf: (prompt) => expandedEnd(latents, prompt, limits) };
}

const NOTHING_TOLD = { prompts: { take: () => null }, records: { take: () => null } };

/** What others need of a runner. */
export type Runner = Omit<TextRunner, 'launcher'> & { launcher: Pick<StepLauncher, 'launch'> };

function stepBuffers(
  device: Device,
  { ropes, layers, inputs, hidden, vocabulary, source }: TextDeclaration,
  options: RunnerOptions,
  sizes: { slots: number; layout: PageLayout; mostPages: number; routeWords: number; takesRows: boolean },
): StepBuffers {
  const { slots, layout, mostPages, routeWords } = sizes;
  const counts = 2 * Math.max(mostPages, 1) * PAGE_TOKENS + (options.drafts ? DRAFT_COUNTS : 0);
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
    counts: Math.min(counts, vocabulary * slots),
    slots,
    ropeWords: ropeWords(ropes),
    model: inputs,
    ...(sizes.takesRows && { inputs: { rows: options.rows, columns: hidden, deep: inputs.deep ?? 0 } }),
    ...(source && { sources: true }),
    ...(layers.some(({ kind }) => kind === 'slot') && { sequences: slots }),
    ...(options.hiddenStates && { stateColumns: hidden }),
    ...(options.routedExperts && routeWords > 0 && { routeWords }),
  });
}
