// Components of a pipeline on the device: weights are loaded for the stage that needs them and freed after it, so that the peak of
// memory is that of the largest stage, not the sum. If all weights take a small share of the budget, they stay.

import { type Prose, option, say } from '../../files/message.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { readFolderTokenizer } from '../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../files/error.ts';
import type { Pipeline, PipelineComponent } from '../../files/pipeline/pipeline-index.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Device } from '../../gpu/device.ts';
import {
  bitsPerWeight,
  FORMATS,
  QUANTIZED_FORMATS,
  type QuantizedFormat,
  type WeightFormat,
} from '../../kernels/formats.ts';
import type { Quantization } from '../session/open-event.ts';
import type { WeightTable } from '../../models/weights.ts';
import { checkRequests } from '../weights/check.ts';
import { collect } from '../weights/collect.ts';
import { formatOf } from '../weights/plan.ts';
import { unreadNote } from '../weights/unread.ts';
import { openWeights, type Weights as LoadedWeights } from '../weights/weights.ts';

/** Share of the budget up to which all weights stay on the device. */
const RESIDENT_SHARE = 0.125;

export interface ComponentsOptions {
  pipeline: Pipeline;
  /** Opens the files of a component's weights. */
  openWeights(component: PipelineComponent): Promise<Weights>;
  /** `f32`: weights are widened to f32; `auto`: the largest format with which every stage fits the budget. */
  quantization: Quantization | 'f32';
  /** Convolutions are stored as in the file, for plain kernels. */
  plain: boolean;
  onProgress(bytes: number, totalBytes: number): void;
  onNote(message: Prose): void;
  /** For planning, where nothing is computed: weights get their bytes and are not read, and this tokenizer stands for each. */
  unread?: { tokenizer: Tokenizer };
}

/** A model page with the weights of a component. Disposing it frees the weights, unless they stay on the device. */
export interface Loaded<P> extends Disposable {
  readonly page: P;
}

type Build<P> = (weights: WeightTable, component: PipelineComponent) => P;

type Files = ReadonlyMap<string, Weights>;

const bytesOf = ({ tensors }: Weights): number =>
  [...tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);

export class Components {
  readonly device: Device;
  /** Whether weights stay on the device between stages. */
  readonly resident: boolean;
  /** Bytes of all weights as stored. */
  readonly storedBytes: number;
  readonly parameters: number;
  readonly quantization: Exclude<Quantization, 'auto'>;
  private readonly options: ComponentsOptions;
  private readonly files: Files;
  /** null: the format of the file. */
  private readonly format: WeightFormat | null;
  private readonly kept = new Map<string, LoadedWeights<unknown>>();
  private readonly notes = new Set<string | null>();
  private readonly tokenizers = new Map<string, Promise<Tokenizer>>();

  constructor(device: Device, files: Files, format: WeightFormat | null, options: ComponentsOptions) {
    const entries = [...files.values()].flatMap(({ tensors }) => [...tensors.values()]);
    this.device = device;
    this.files = files;
    this.format = format;
    this.options = options;
    this.storedBytes = entries.reduce((sum, { bytes }) => sum + bytes, 0);
    this.parameters = entries.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
    this.resident = this.storedBytes <= RESIDENT_SHARE * device.memoryBudget;
    this.quantization = QUANTIZED_FORMATS.find((choice) => FORMATS[choice] === format) ?? 'none';
  }

  /** Returns a component of model_index.json; throws bad_checkpoint if there is none of that name. */
  get(name: string): PipelineComponent {
    return componentOf(this.options.pipeline, name);
  }

  has(name: string): boolean {
    return this.options.pipeline.components[name] !== undefined;
  }

  /** Returns a tokenizer, which is read once; throws bad_checkpoint if its files are missing or damaged. */
  tokenizer(name: string): Promise<Tokenizer> {
    const { unread } = this.options;
    if (unread) return Promise.resolve(unread.tokenizer);
    const tokenizer = this.tokenizers.get(name) ?? openTokenizer(this.get(name));
    this.tokenizers.set(name, tokenizer);
    return tokenizer;
  }

  /** Throws bad_checkpoint if a component's tensors differ from those that a page asks for; reads only headers. */
  check(name: string, build: (weights: WeightTable) => unknown): void {
    const { tensors, path } = this.files.get(name)!;
    try {
      const note = unreadNote(checkRequests(collect(tensors, build), tensors), this.get(name).className);
      if (note !== null && !this.notes.has(note)) this.options.onNote(note);
      this.notes.add(note);
    } catch (error) {
      throw underFile(error, path);
    }
  }

  /**
   * Builds a page on a component's weights and reads them into the device; `part` distinguishes pages on the same component. With
   * `compileOnly`, weights that do not stay on the device keep whatever values their bytes have.
   */
  async load<P>(
    name: string,
    part: string,
    build: Build<P>,
    { compileOnly = false }: { compileOnly?: boolean },
  ): Promise<Loaded<P>> {
    const key = `${name}/${part}`;
    const known = this.kept.get(key);
    if (known) return { page: known.page as P, [Symbol.dispose]: () => {} };
    const weights = await this.declare(name, build);
    try {
      const { onProgress, unread } = this.options;
      if (!unread && (this.resident || !compileOnly)) await weights.load({ onProgress });
    } catch (error) {
      weights.free();
      throw underFile(error, this.files.get(name)!.path);
    }
    if (this.resident) this.kept.set(key, weights);
    return { page: weights.page, [Symbol.dispose]: () => void (this.resident || weights.free()) };
  }

  /** Opens a page on weights that have sizes but no values, to measure its memory: it is recorded and never run. */
  async loadEmpty<P>(name: string, part: string, build: Build<P>): Promise<Loaded<P>> {
    const known = this.kept.get(`${name}/${part}`);
    if (known) return { page: known.page as P, [Symbol.dispose]: () => {} };
    const weights = await this.declare(name, build);
    return { page: weights.page, [Symbol.dispose]: () => weights.free() };
  }

  close(): Promise<void> {
    return closeFiles(this.files);
  }

  private async declare<P>(name: string, build: Build<P>): Promise<LoadedWeights<P>> {
    const { device, format, options } = this;
    const weights = this.files.get(name)!;
    // Factor on the stored bytes: f32 may take twice as many, and packing adds padding.
    const growth = format === FORMATS.f32 ? 2.2 : 1.1;
    await device.reserve(device.memoryUsed + Math.ceil(growth * bytesOf(weights)));
    const page = (table: WeightTable): P => build(table, this.get(name));
    return openWeights(device, weights.tensors, page, { format, plain: options.plain });
  }
}

/** The part of Components that a family uses. */
export type ComponentAccess = Pick<Components, 'device' | 'get' | 'has' | 'tokenizer' | 'check' | 'load'>;

/** `names`: the components that have weights. */
export async function openComponents(
  device: Device,
  names: readonly string[],
  options: ComponentsOptions,
): Promise<Components> {
  const files = new Map<string, Weights>();
  return orClose(
    () => closeFiles(files),
    async () => {
      for (const name of names)
        files.set(name, await options.openWeights(componentOf(options.pipeline, name)));
      const largest = Math.max(...[...files.values()].map(bytesOf));
      return new Components(device, files, await chooseFormat(device, options, largest), options);
    },
  );
}

async function closeFiles(files: Files): Promise<void> {
  const sources = [...files.values()].flatMap((weights) => weights.sources);
  await Promise.all(sources.map((source) => source.close()));
}

function componentOf({ path, components }: Pipeline, name: string): PipelineComponent {
  const component = components[name];
  if (component) return component;
  throw new EngineError(
    'bad_checkpoint',
    `${path} has no ${name}, which its pipeline class needs: fetch the whole pipeline`,
    { param: 'model_index.json' },
  );
}

/** Adds the file's path to an error about a checkpoint. */
function underFile(error: unknown, path: string): unknown {
  return error instanceof EngineError && error.code === 'bad_checkpoint' ? error.underName(path) : error;
}

async function openTokenizer({ folder, config, className }: PipelineComponent): Promise<Tokenizer> {
  const own = { ...config, tokenizer_class: className };
  const tokenizer = await readFolderTokenizer(folder, own);
  if (tokenizer.vocabSize > 0) return tokenizer;
  throw new EngineError('bad_checkpoint', `the tokenizer in ${folder.path} has no tokens: fetch it again`);
}

/** Returns the result of `run`; calls `close` if it fails. */
export async function orClose<T>(close: () => Promise<void>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    await close();
    throw error;
  }
}

/** Share of the budget for the weights of a stage; the rest is for intermediates. */
const SHARE_FOR_WEIGHTS = 0.6;
/** Share of 16 bits that a weight takes, including scales. */
const packedShare = (choice: 'none' | QuantizedFormat): number =>
  choice === 'none' ? 1 : bitsPerWeight(FORMATS[choice]) / 16;

const SMALLEST = QUANTIZED_FORMATS.at(-1)!;

/** Chooses the format of matrices; null: the format of the file. `largest`: stored bytes of the largest component. */
async function chooseFormat(
  device: Device,
  { quantization, onNote }: ComponentsOptions,
  largest: number,
): Promise<WeightFormat | null> {
  if (quantization === 'f32') return FORMATS.f32;
  if (quantization !== 'auto') return formatOf(quantization);
  for (const choice of ['none', ...QUANTIZED_FORMATS] as const) {
    const bytes = largest * packedShare(choice);
    if (!(await device.reserve(bytes / SHARE_FOR_WEIGHTS))) continue;
    const budget = bytesText(device.memoryBudget);
    onNote(
      say`${option('quantization')} auto: ${choice}, at most ${bytesText(bytes)} of weights at a time in a budget of ${budget}`,
    );
    return formatOf(choice);
  }
  throw new EngineError(
    'out_of_memory',
    say`the largest component needs ${bytesText(largest * packedShare(SMALLEST))} even as ${SMALLEST}, the memory budget is ${bytesText(device.memoryBudget)}: raise ${option('memoryBudget')} or choose a smaller model`,
  );
}
