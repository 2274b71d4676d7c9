// Components of a pipeline on the device: weights are loaded where a stage needs them and given back after it, so that peak
// memory is the largest stage, not the sum. Where all of them take a small share of the budget they stay.

import { bytesText } from '../../files/bytes-text.ts';
import { readTokenizer } from '../../files/checkpoint/checkpoint.ts';
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
  /** `f32`: widened; `auto`: the largest of which any stage fits the budget. */
  quantization: Quantization | 'f32';
  /** For plain kernels: convolutions as they are stored. */
  plain: boolean;
  onProgress(bytes: number, totalBytes: number): void;
  onNote(message: string): void;
}

export type WithPage = <P, T>(
  name: string,
  part: string,
  build: (weights: WeightTable, component: PipelineComponent) => P,
  body: (page: P) => Promise<T>,
) => Promise<T>;

export interface Components {
  readonly device: Device;
  /** A component of model_index.json; throws bad_checkpoint where there is none of that name. */
  get(name: string): PipelineComponent;
  has(name: string): boolean;
  /** A tokenizer, read once; throws bad_checkpoint where its files are missing or broken. */
  tokenizer(name: string): Promise<Tokenizer>;
  /** Whether weights stay on the device between stages. */
  readonly resident: boolean;
  /** Bytes of all weights as stored. */
  readonly storedBytes: number;
  readonly parameters: number;
  readonly quantization: Exclude<Quantization, 'auto'>;
  /** Throws bad_checkpoint where a component's weights are not those that a page asks for; reads none of them. */
  check(name: string, build: (weights: WeightTable) => unknown): void;
  /** Builds a page on a component's weights and gives it to `body`; `part` tells pages on the same component apart. */
  use: WithPage;
  /** The same with weights that have bytes but no values yet, to tell what there is room for: `body` records and runs nothing. */
  foresee: WithPage;
  /** While `run` runs, weights that do not stay on the device are not read into it: of use where nothing is computed. */
  unread<T>(run: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openComponents(
  device: Device,
  names: readonly string[],
  options: ComponentsOptions,
): Promise<Components> {
  const { pipeline, onProgress } = options;
  const get = (name: string): PipelineComponent => {
    const component = pipeline.components[name];
    if (component) return component;
    throw new EngineError(
      'bad_checkpoint',
      `${pipeline.path} has no ${name}, which its pipeline class needs: fetch the whole pipeline`,
      { param: 'model_index.json' },
    );
  };
  const files = new Map<string, Weights>();
  const close = async (): Promise<void> => {
    const sources = [...files.values()].flatMap((weights) => weights.sources);
    await Promise.all(sources.map((source) => source.close()));
  };
  await orClose(close, async () => {
    for (const name of names) files.set(name, await options.openWeights(get(name)));
  });
  const entries = [...files.values()].flatMap(({ tensors }) => [...tensors.values()]);
  const storedBytes = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const parameters = entries.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  const largest = Math.max(
    ...[...files.values()].map(({ tensors }) =>
      [...tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    ),
  );
  const format = await orClose(close, () => chooseFormat(device, options, largest));
  const resident = storedBytes <= RESIDENT_SHARE * device.memoryBudget;
  const kept = new Map<string, LoadedWeights<unknown>>();
  const noted = new Set<string | null>();
  const tokenizers = new Map<string, Promise<Tokenizer>>();
  let isRead = true;

  type Build = (weights: WeightTable, component: PipelineComponent) => unknown;
  const declare = async (name: string, build: Build): Promise<LoadedWeights<unknown>> => {
    const { tensors } = files.get(name)!;
    const stored = [...tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    // f32 may be twice what is stored; packing pads.
    await device.reserve(device.memoryUsed + Math.ceil((format === FORMATS.f32 ? 2.2 : 1.1) * stored));
    const page = (table: WeightTable): unknown => build(table, get(name));
    return openWeights(device, tensors, page, { format, plain: options.plain });
  };
  const load = async (name: string, build: Build): Promise<LoadedWeights<unknown>> => {
    const loaded = await declare(name, build);
    try {
      if (resident || isRead) await loaded.load({ onProgress });
      return loaded;
    } catch (error) {
      loaded.free();
      throw underFile(error, files.get(name)!.path);
    }
  };

  return {
    device,
    get,
    has: (name) => pipeline.components[name] !== undefined,
    tokenizer(name) {
      const tokenizer = tokenizers.get(name) ?? openTokenizer(get(name));
      tokenizers.set(name, tokenizer);
      return tokenizer;
    },
    resident,
    storedBytes,
    parameters,
    quantization: QUANTIZED_FORMATS.find((choice) => FORMATS[choice] === format) ?? 'none',
    check(name, build) {
      const { tensors, path } = files.get(name)!;
      try {
        const unread = unreadNote(checkRequests(collect(tensors, build), tensors), get(name).className);
        if (unread !== null && !noted.has(unread)) options.onNote(unread);
        noted.add(unread);
      } catch (error) {
        throw underFile(error, path);
      }
    },
    async use(name, part, build, body) {
      const key = `${name}/${part}`;
      const loaded = kept.get(key) ?? (await load(name, build));
      if (resident) kept.set(key, loaded);
      try {
        return await body(loaded.page as ReturnType<typeof build>);
      } finally {
        if (!resident) loaded.free();
      }
    },
    async unread(run) {
      isRead = false;
      try {
        return await run();
      } finally {
        isRead = true;
      }
    },
    async foresee(name, part, build, body) {
      const held = kept.get(`${name}/${part}`);
      const seen = held ?? (await declare(name, build));
      try {
        return await body(seen.page as ReturnType<typeof build>);
      } finally {
        if (!held) seen.free();
      }
    },
    close,
  };
}

/** Names the file that an error of a checkpoint is about. */
function underFile(error: unknown, path: string): unknown {
  return error instanceof EngineError && error.code === 'bad_checkpoint' ? error.underName(path) : error;
}

async function openTokenizer({ folder, config, className }: PipelineComponent): Promise<Tokenizer> {
  const own = { ...config, tokenizer_class: className };
  const tokenizer = await readTokenizer(folder, await folder.names(), own);
  if (tokenizer.vocabSize > 0) return tokenizer;
  throw new EngineError('bad_checkpoint', `the tokenizer in ${folder.path} has no tokens: fetch it again`);
}

/** What `run` gives; where it fails, nothing stays open. */
export async function orClose<T>(close: () => Promise<void>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    await close();
    throw error;
  }
}

/** Share of the budget for the weights of a stage; the rest is for what it computes. */
const SHARE_FOR_WEIGHTS = 0.6;
/** Share of 16 bits a weight, with scales. */
const packedShare = (choice: 'none' | QuantizedFormat): number =>
  choice === 'none' ? 1 : bitsPerWeight(FORMATS[choice]) / 16;

const SMALLEST = QUANTIZED_FORMATS.at(-1)!;

/** The format of matrices; null: as stored. `largest`: bytes of the largest component as stored. */
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
      `\`quantization\` auto: ${choice}, at most ${bytesText(bytes)} of weights at a time in a budget of ${budget}`,
    );
    return formatOf(choice);
  }
  throw new EngineError(
    'out_of_memory',
    `the largest component needs ${bytesText(largest * packedShare(SMALLEST))} even as ${SMALLEST}, the memory budget is ${bytesText(device.memoryBudget)}: raise \`memoryBudget\` or choose a smaller model`,
  );
}
