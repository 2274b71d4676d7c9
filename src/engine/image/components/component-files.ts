// Files of a pipeline's components: their weights and tokenizers, errors about them, and the place of packed weights in the cache.

import { readFolderTokenizer } from '../../../files/checkpoint/checkpoint.ts';
import { badCheckpoint, EngineError } from '../../../files/error.ts';
import type { Weights } from '../../../files/checkpoint/shards.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import { folderOf } from '../../../files/posix-path.ts';
import type { Device } from '../../../gpu/device.ts';
import type { WeightFormat } from '../../../kernels/formats.ts';
import type { PackedCache, PackedSlot } from '../../platform/platform.ts';
import type { WeightChanges } from '../../weights/change.ts';
import type { DevicePart } from '../../../models/weights.ts';
import { markOf } from '../../weights/collect-own.ts';
import { packedLayout } from '../../weights/packed.ts';
import type { Pipeline, PipelineComponent } from '../../../files/pipeline/pipeline-index.ts';

/** Headers of the weights of each component. */
export type Files = ReadonlyMap<string, Weights>;

/** Closes the files of all components. */
export async function closeFiles(files: Files): Promise<void> {
  const sources = [...files.values()].flatMap((weights) => weights.sources);
  await Promise.all(sources.map((source) => source.close()));
}

/** Bytes and numbers of elements of all weights as stored. */
export function sizesOf(files: Files): { storedBytes: number; parameters: number } {
  const entries = [...files.values()].flatMap(({ tensors }) => [...tensors.values()]);
  return {
    storedBytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
    parameters: entries.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0),
  };
}

/** Returns a component of model_index.json. Throws bad_checkpoint if there is none of that name. */
export function componentOf({ path, components }: Pipeline, name: string): PipelineComponent {
  const component = components[name];
  if (component) return component;
  throw badCheckpoint(
    `${path} has no ${name}, which its pipeline class needs: fetch the whole pipeline`,
    'model_index.json',
  );
}

/** The file that states a component's configuration. */
export const configFileOf = ({ impliedBy, folder }: PipelineComponent): string =>
  impliedBy ?? `${folder.path}/config.json`;

/** Adds the file's path to an error about its tensors. */
export function underFile(error: unknown, path: string): unknown {
  const isOfFile = error instanceof EngineError && /^(bad_checkpoint|unsupported)$/.test(error.code);
  return isOfFile ? error.underName(path) : error;
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

/** Components that get their bytes and are not read. */
export interface UnreadComponents {
  /** Headers of the weights of each. */
  weights: Files;
  tokenizer(name: string): Promise<Tokenizer>;
  /** The budget that decides on forms of convolutions; left out: the device's. */
  memoryBudget?: number;
}

interface PageOfComponent {
  device: Device;
  name: string;
  part: string;
  /** The part of its matrices, where devices divide them. */
  divided?: DevicePart | undefined;
  /** null: the format of the file. */
  format: WeightFormat | null;
  /** Changes that LoRAs make. Weights with any have a place of their own at each loading. */
  changes: WeightChanges;
}

/** The place in the cache of packed weights for a page of a component. */
export function componentSlot(
  packed: PackedCache,
  { path, sources }: Pick<Weights, 'path' | 'sources'>,
  { device, name, part, divided, format, changes }: PageOfComponent,
): Promise<PackedSlot> {
  const isChanged = changes.size > 0;
  const kind = [name, part + markOf(divided), format?.name ?? 'stored', ...(isChanged ? ['adapted'] : [])];
  const layout = packedLayout(device);
  return packed.slot({
    path: path.endsWith('.json') ? folderOf(path) : path,
    shards: sources.map((source) => source.name),
    quantization: kind.join('-').replace(/[^\w.-]/g, '_'),
    layout: isChanged ? `${layout}-${crypto.randomUUID()}` : layout,
  });
}

/**
 * Classes of transformers that compute what the files of any tokenizer say. transformers 5 names them where a class of its own is not
 * known, and transformers 4 the second.
 */
export const TOKENIZER_BACKENDS: readonly string[] = [
  'TokenizersBackend',
  'PreTrainedTokenizerFast',
  'SentencePieceBackend',
  'PythonBackend',
];

/** Throws bad_checkpoint where the files of a tokenizer are missing or damaged. */
export async function openTokenizer({ folder, config, className }: PipelineComponent): Promise<Tokenizer> {
  // A processor's tokenizer has a class of its own, which its configuration names, as it may where a backend reads it.
  const saysNothing = className.endsWith('Processor') || TOKENIZER_BACKENDS.includes(className);
  const own = saysNothing ? config : { ...config, tokenizer_class: className };
  const tokenizer = await readFolderTokenizer(folder, own);
  if (tokenizer.vocabSize > 0) return tokenizer;
  throw badCheckpoint(`the tokenizer in ${folder.path} has no tokens: fetch it again`);
}
