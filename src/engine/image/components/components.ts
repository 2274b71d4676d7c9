// Components of a pipeline on the device, each where its residency says: on it all the time, loaded for the stages that use it and
// freed after them, or in host memory, from which layers are copied as tapes run.

import type { Pipeline, PipelineComponent } from '../../../files/pipeline/pipeline-index.ts';
import type { Weights } from '../../../files/checkpoint/shards.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { Device } from '../../../gpu/device.ts';
import { FORMATS, QUANTIZED_FORMATS, type WeightFormat } from '../../../kernels/formats.ts';
import type { Quantization } from '../../opening/open-event.ts';
import type { DevicePart, WeightTable } from '../../../models/weights.ts';
import { collectOwn, isDivided } from '../../weights/collect-own.ts';
import { plannedBytes } from '../../weights/planned-bytes.ts';
import type { PackedCache, PackedSlot } from '../../platform/platform.ts';
import { unreadNote } from '../../weights/unread.ts';
import type { WeightChanges } from '../../weights/change.ts';
import { openWeights, type Weights as LoadedWeights } from '../../weights/weights.ts';
import {
  closeFiles,
  componentOf,
  componentSlot,
  openTokenizer,
  sizesOf,
  underFile,
  type Files,
  type UnreadComponents,
} from './component-files.ts';
import { formatOfComponent, type FormatOptions } from './component-format.ts';
import { KeptWeights, type Kept } from './kept-weights.ts';
import { QuantizedComponents, type LowRankComponents, type QuantizedPage } from './quantized-components.ts';
import { RESIDENT, STAGED, type PageBytes, type Residencies, type Residency } from './residency.ts';

/** Share of the budget up to which all weights stay on the device. */
const RESIDENT_SHARE = 0.125;
/** Bytes on the device for a moment while weights are read: a chunk of a file, factors of LoRAs, and what is merged of them. */
const READING_BYTES = 64 * 2 ** 20;

export interface ComponentsOptions extends FormatOptions {
  pipeline: Pipeline;
  /** Opens the files of a component's weights. */
  openWeights(component: PipelineComponent): Promise<Weights>;
  /** Convolutions are stored as in the file, for plain kernels. */
  plain: boolean;
  /** The cache in which layers are that host memory has no room for; null: there is none. */
  packed: PackedCache | null;
  /** Components that are quantized with a low-rank part; left out: none. */
  lowRank?: LowRankComponents;
  onProgress(bytes: number, totalBytes: number): void;
  /** Components whose matrices are divided among devices, and this device's part of them; left out: none is. */
  divided?: ReadonlyMap<string, DevicePart>;
  /** For planning, where nothing is computed. */
  unread?: UnreadComponents;
}

/** A model page with the weights of a component. Disposing it frees the weights, unless they stay on the device. */
export interface LoadedComponent<P> extends Disposable {
  readonly page: P;
}

type Build<P> = (weights: WeightTable, component: PipelineComponent) => P;

export class Components {
  readonly device: Device;
  /** Bytes of all weights as stored. */
  readonly storedBytes: number;
  readonly parameters: number;
  /** Words of prompts with embeddings of their own. */
  readonly words: NonNullable<Pipeline['words']>;
  readonly quantization: Exclude<Quantization, 'auto'>;
  /** Whether devices divide matrices of a component that was checked. */
  isDivided = false;
  readonly #options: ComponentsOptions;
  readonly #files: Files;
  /** null: the format of the file. */
  readonly #format: WeightFormat | null;
  #residencies: Residencies = new Map();
  /** Pages whose weights stay on the device or have copies in host memory. */
  readonly #kept = new KeptWeights();
  /** Changes that LoRAs make to components. */
  #changes: ReadonlyMap<string, WeightChanges> = new Map();
  readonly #bytes = new Map<string, PageBytes>();
  readonly #notes = new Set<string>();
  readonly #tokenizers = new Map<string, Promise<Tokenizer>>();
  readonly #quantized: QuantizedComponents | null;

  constructor(device: Device, files: Files, format: WeightFormat | null, options: ComponentsOptions) {
    this.device = device;
    this.#files = files;
    this.#format = format;
    this.#options = options;
    const { lowRank = null } = options;
    this.#quantized = lowRank && new QuantizedComponents(device, lowRank, options);
    this.words = options.pipeline.words ?? [];
    ({ storedBytes: this.storedBytes, parameters: this.parameters } = sizesOf(files));
    this.quantization = QUANTIZED_FORMATS.find((choice) => FORMATS[choice] === format) ?? 'none';
  }

  /** Names of the components that are tokenizers. */
  get tokenizerNames(): string[] {
    const { components } = this.#options.pipeline;
    return Object.keys(components).filter((name) => components[name]!.kind === 'tokenizer');
  }

  /** Names of the components that have weights. */
  get names(): string[] {
    return [...this.#files.keys()];
  }

  /** Whether all weights take a small share of the budget, so that they stay on the device without a plan. */
  get isSmall(): boolean {
    return this.storedBytes <= RESIDENT_SHARE * this.device.memoryBudget;
  }

  /** Whether all weights stay on the device between stages. */
  get resident(): boolean {
    return this.names.every((name) => this.residencyOf(name).kind === 'resident');
  }

  residencyOf(name: string): Residency {
    return this.#residencies.get(name) ?? (this.isSmall ? RESIDENT : STAGED);
  }

  /** Sets where weights are from now on, between two images. Those that were elsewhere are freed. */
  reside(residencies: Residencies): void {
    this.#residencies = residencies;
    this.#bytes.clear();
    this.#kept.reside((name) => this.residencyOf(name));
  }

  /** Frees all weights that are kept between stages, between two images. */
  release(): void {
    this.#kept.free();
  }

  /** Bytes of the largest page of a component as it was opened last. */
  weightBytes(name: string): PageBytes {
    return this.#bytes.get(name) ?? { all: 0, onDevice: 0, inFile: 0 };
  }

  /** Returns the files of a component's weights. */
  filesOf(name: string): Weights {
    return this.#files.get(name)!;
  }

  /** Returns a component of model_index.json; throws bad_checkpoint if there is none of that name. */
  get(name: string): PipelineComponent {
    return componentOf(this.#options.pipeline, name);
  }

  has(name: string): boolean {
    return this.#options.pipeline.components[name] !== undefined;
  }

  /** Returns a tokenizer, which is read once; throws bad_checkpoint if its files are missing or damaged. */
  tokenizer(name: string): Promise<Tokenizer> {
    const { unread } = this.#options;
    if (unread) return unread.tokenizer(name);
    const tokenizer = this.#tokenizers.get(name) ?? openTokenizer(this.get(name));
    this.#tokenizers.set(name, tokenizer);
    tokenizer.catch(() => this.#tokenizers.delete(name)); // another attempt may read it
    return tokenizer;
  }

  /** Throws bad_checkpoint if a component's tensors differ from those that a page asks for; reads only headers. */
  check(name: string, build: (weights: WeightTable) => unknown): void {
    const { tensors, path } = this.#files.get(name)!;
    try {
      const { className } = this.get(name);
      const { unread, collected } = collectOwn(tensors, build, this.#partOf(name));
      this.isDivided ||= isDivided(collected);
      const note = unreadNote(unread, className);
      if (note !== null && !this.#notes.has(note)) this.#options.onNote(note);
      if (note !== null) this.#notes.add(note);
    } catch (error) {
      throw underFile(error, path);
    }
  }

  /**
   * Builds a page on a component's weights and reads them into the device; `part` distinguishes pages on the same component. With
   * `compileOnly`, weights that do not stay on the device keep whatever values their bytes have. With `once`, they never stay.
   */
  async load<P>(
    name: string,
    part: string,
    build: Build<P>,
    { compileOnly = false, once = false }: { compileOnly?: boolean; once?: boolean },
  ): Promise<LoadedComponent<P>> {
    const key = `${name}/${part}`;
    const changes = this.#changes.get(name) ?? new Map();
    const unread = this.#options.unread !== undefined;
    const known = await this.#kept.changed(key, changes, unread).catch((error: unknown) => {
      throw underFile(error, this.#files.get(name)!.path);
    });
    if (known) return this.#entered<P>(known);
    const residency = this.residencyOf(name);
    const [weights, quantized] = await this.#declare(name, build);
    const isRead = residency.kind === 'resident' || !compileOnly;
    const stays = isRead && !once && (residency.kind !== 'staged' || residency.kept);
    try {
      const { onProgress } = this.#options;
      const inCache = isRead && weights.fileBytes > 0 && !unread;
      const slot = inCache ? await this.#slot(name, part + (quantized?.mark ?? ''), changes) : null;
      if (isRead && !unread) await quantized?.make(onProgress);
      if (isRead) await weights.load({ onProgress, unread, changes, slot });
      if (stays && residency.kind !== 'resident') await weights.keepCopies({ unread });
    } catch (error) {
      weights.free();
      throw underFile(error, this.#files.get(name)!.path);
    }
    if (!stays) return { page: weights.page, [Symbol.dispose]: () => weights.free() };
    const kept = { name, weights, residency, changes };
    this.#kept.set(key, kept);
    return this.#entered<P>(kept);
  }

  /** Sets the changes that LoRAs make, by component, to the weights that are loaded from now on, between two images. */
  adapt(changes: ReadonlyMap<string, WeightChanges>): void {
    this.#changes = changes;
  }

  /** Returns a page whose weights are on the device until it is disposed. */
  async #entered<P>({ name, weights }: Kept): Promise<LoadedComponent<P>> {
    const page = weights.page as P;
    if (this.residencyOf(name).kind === 'resident') return { page, [Symbol.dispose]: () => {} };
    await weights.enter();
    return { page, [Symbol.dispose]: () => weights.leave() };
  }

  /** Opens a page on weights that have sizes but no values, to measure its memory: it is recorded and never run. */
  async loadEmpty<P>(name: string, part: string, build: Build<P>): Promise<LoadedComponent<P>> {
    const known = this.#kept.get(`${name}/${part}`);
    if (known) return this.#entered<P>(known);
    const [weights] = await this.#declare(name, build);
    return { page: weights.page, [Symbol.dispose]: () => weights.free() };
  }

  /** Returns the place of the packed weights of a page in the cache. */
  async #slot(name: string, part: string, changes: WeightChanges): Promise<PackedSlot | null> {
    const { packed } = this.#options;
    const files = this.#files.get(name)!;
    const format = formatOfComponent(files, this.#options, this.#format);
    const of = { device: this.device, name, part, divided: this.#partOf(name), format, changes };
    return packed && componentSlot(packed, files, of);
  }

  /** The part of a component's matrices that this device has; undefined: they are whole. */
  #partOf = (name: string): DevicePart | undefined => this.#options.divided?.get(name);

  /** Matrices that keep numbers beside those with a low-rank part are not rounded otherwise. */
  #formatOf(name: string, quantized: QuantizedPage | null): WeightFormat | null {
    const format = formatOfComponent(this.#files.get(name)!, this.#options, this.#format);
    return quantized && format?.packing === 'quantise' ? null : format;
  }

  #count(name: string, { plan, deviceBytes, fileBytes }: LoadedWeights<unknown>): void {
    const { all, onDevice, inFile } = this.weightBytes(name);
    this.#bytes.set(name, {
      all: Math.max(all, plan.bytes),
      onDevice: Math.max(onDevice, deviceBytes),
      inFile: Math.max(inFile, fileBytes),
    });
  }

  async close(): Promise<void> {
    await this.#kept.close();
    await closeFiles(this.#files);
    await this.#quantized?.close();
  }

  async #declare<P>(name: string, build: Build<P>): Promise<[LoadedWeights<P>, QuantizedPage | null]> {
    const { device } = this;
    const options = this.#options;
    const weights = this.#files.get(name)!;
    const page = (table: WeightTable): P => build(table, this.get(name));
    const quantized = this.#quantized?.of(name, weights, page) ?? null;
    const { tensors } = quantized ?? weights;
    const format = this.#formatOf(name, quantized);
    const residency = this.residencyOf(name);
    const streamed = residency.kind === 'streamed' ? residency.resident : undefined;
    const { plain, unread, packed } = options;
    const memoryBudget = unread?.memoryBudget ?? device.memoryBudget;
    const layout = { format, plain, memoryBudget, part: this.#partOf(name) };
    if (!streamed && device.mayGrow)
      await device.reserve(device.memoryUsed + plannedBytes(device, tensors, page, layout) + READING_BYTES);
    const opened = openWeights(device, tensors, page, {
      ...layout,
      ...{ streamed, mayStore: packed !== null, keepsCopies: residency.kind === 'streamed' },
    });
    this.#count(name, opened);
    return [opened, quantized];
  }
}

/** The part of Components that a family uses. */
export type ComponentAccess = Pick<
  Components,
  'device' | 'names' | 'words' | 'get' | 'has' | 'tokenizer' | 'check' | 'load'
>;
