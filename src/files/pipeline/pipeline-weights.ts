// Weights of one component of a diffusion pipeline, or of a denoiser that stands apart: one file or shards, and which
// variant (fp16 …) where there are several.

import { option, say } from '../message.ts';
import { badCheckpoint, badRequest, EngineError, modelNotFound, unsupported } from '../error.ts';
import { openShards, type Weights } from '../checkpoint/shards.ts';
import { wrappedTensors } from '../checkpoint/text-half.ts';
import { readCoded } from '../coded/fold.ts';
import type { Declared } from '../coded/methods.ts';
import { isGgufName } from '../gguf/file-names.ts';
import { describeQuantized, quantizedBy, quantizedSign } from '../coded/quantized.ts';
import { closeAll, keepingOpen, readJson, type Folder } from '../source.ts';
import { weightsFileOf } from '../checkpoint/weights-file.ts';
import type { PartLayout } from './file-layout.ts';
import { findPart, openFile, openPart, underPath, type FoundPart } from './file-parts.ts';
import { tensorFiles } from '../tensors/tensor-file.ts';
import { withScales } from './renamed-tensors.ts';

export type OpenFolder = (path: string) => Promise<Folder>;

/** Ordinary names: diffusers', then transformers'; the variant stands before the ending, or at the end of an index. */
const WEIGHTS =
  /^(?:diffusion_pytorch_model|model)(?:\.([\w-]+))?\.safetensors(?:\.index(?:\.([\w-]+))?\.json)?$/;
/** The same of torch's files, which hold what the others hold. */
const TORCH_WEIGHTS =
  /^(?:diffusion_pytorch_model|pytorch_model)(?:\.([\w-]+))?\.bin(?:\.index(?:\.([\w-]+))?\.json)?$/;
const SHARD = /-\d{5}-of-\d{5}\.(safetensors|bin)$/;
/** Half precision first, which is what is fetched where there is the choice: the same images from half the bytes. */
const VARIANTS = ['fp16', '', 'bf16', 'fp32'];

/** The file with a folder's weights, or the index of its shards. */
export function chooseWeights(folder: Folder, names: readonly string[]): string {
  const whole = names.filter((name) => !SHARD.test(name));
  const only = tensorFiles(names);
  const chosen =
    bestOf(whole, WEIGHTS) ?? bestOf(whole, TORCH_WEIGHTS) ?? (only.length === 1 ? only[0] : undefined);
  if (chosen !== undefined) return chosen;
  throw noWeights(folder.path, names);
}

/** The name of the preferred variant among those of a form; undefined: none has the form. */
function bestOf(names: readonly string[], form: RegExp): string | undefined {
  const found = names.flatMap((name) => {
    const match = form.exec(name);
    return match === null ? [] : [{ name, rank: rankOf(match[1] ?? match[2] ?? '') }];
  });
  return found.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))[0]?.name;
}

function rankOf(variant: string): number {
  // Weights before averaging are for training.
  if (variant === 'non_ema') return VARIANTS.length + 1;
  const rank = VARIANTS.indexOf(variant);
  return rank < 0 ? VARIANTS.length : rank;
}

/**
 * Weights of a component; a language model within a model of texts and images has its own names. `declared`: the quantization that the
 * component's configuration states; null: none.
 */
export async function openComponentWeights(
  folder: Folder,
  declared: Declared | null = null,
): Promise<Weights> {
  const names = await folder.names();
  const weights = await openShards(folder, names, chooseWeights(folder, names));
  const tensors = await keepingOpen(weights.sources, () => readCoded(weights.tensors, declared));
  return { ...weights, tensors: wrappedTensors(tensors) };
}

const PATH = 'transformerWeightsPath';

/** Weights of the denoiser alone: a file in one of the layouts that are known, or a folder. Throws bad_request for a file of something else. */
export async function openDenoiserWeights(
  openFolder: OpenFolder,
  path: string,
  layouts: readonly PartLayout[],
): Promise<Weights> {
  const folder = await openFolder(path).catch((error: unknown) => {
    if (!(error instanceof EngineError && error.code === 'model_not_found')) throw error;
    throw modelNotFound(`there is no file ${path}: give a .safetensors or .gguf file, or a folder`, PATH);
  });
  const names = await folder.names();
  const file = weightsFileOf(names);
  if (file !== null) {
    const part = await findInFile(folder, file, layouts);
    if (part !== null) return openPart(folder, file, part);
    if (!isGgufName(file)) return openPlain(folder, file);
    throw badRequest(`${path} holds no denoiser of this pipeline: give the file that was made from it`, PATH);
  }
  const config = names.includes('config.json') ? await readJson(folder, 'config.json') : {};
  const declared = quantizedBy(config, 'config.json');
  if (declared === null || declared.isRead) return openComponentWeights(folder, declared);
  throw quantizedWeights(path, `${describeQuantized(declared)} (${declared.where})`);
}

function quantizedWeights(path: string, how: string): EngineError {
  return badRequest(
    say`${path} holds weights that are quantized already${how} in a way that is not read: give plain weights, and ${option('quantization')} int8 or int4 to pack them while loading, or FP8, NF4 or GGUF weights`,
    PATH,
  );
}

async function findInFile(
  folder: Folder,
  file: string,
  layouts: readonly PartLayout[],
): Promise<FoundPart | null> {
  const opened = await openFile(folder, file);
  try {
    return underPath(opened.path, () => findPart(opened.tensors, layouts));
  } finally {
    await closeAll(opened.sources);
  }
}

/** Tensors of SVDQuant's weights, whose names a layout knows. */
const LOW_RANK = /\.weight\.down$/;

/** A file whose tensors have the names of the page, or are refused by them. */
async function openPlain(folder: Folder, file: string): Promise<Weights> {
  const opened = await openFile(folder, file);
  const { tensors, sources, path } = opened;
  const numbers = [...tensors].filter(([, { scaledBy, coded }]) => !scaledBy && !coded);
  const unknown = [...tensors.keys()].find((name) => LOW_RANK.test(name));
  const problem =
    unknown === undefined ? quantizedSign(new Map(numbers)) : `${unknown}, in names that are not known`;
  if (problem === null) return { tensors: withScales(tensors), sources: [...sources], path };
  await closeAll(opened.sources);
  throw quantizedWeights(path, ` (${problem})`);
}

function noWeights(path: string, names: readonly string[]): EngineError {
  const gguf = names.find((name) => /\.gguf$/i.test(name));
  if (gguf !== undefined) {
    return unsupported(
      `${path} holds GGUF weights of several models (${gguf} …): give the path of one of the files`,
      gguf,
    );
  }
  return badCheckpoint(
    say`${path} has no safetensors weights (diffusion_pytorch_model.safetensors or model.safetensors): fetch the pipeline again, or where its repository has none, put another in its place with ${option('componentPaths')}`,
    'diffusion_pytorch_model.safetensors',
  );
}
