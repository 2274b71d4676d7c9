// Weights of one component of a diffusion pipeline, or of a denoiser that stands apart: one file or shards, and which
// variant (fp16 …) where there are several.

import { option, say } from '../message.ts';
import { EngineError } from '../error.ts';
import { GGUF_REMEDY } from '../gguf/sniff.ts';
import { openShards, type Weights } from '../checkpoint/shards.ts';
import { wrappedTensors } from '../checkpoint/text-half.ts';
import { quantizedSign } from '../quantized.ts';
import type { Folder } from '../source.ts';

export type OpenFolder = (path: string) => Promise<Folder>;

/** Ordinary names: diffusers', then transformers'; the variant stands before the ending, or at the end of an index. */
const WEIGHTS =
  /^(?:diffusion_pytorch_model|model)(?:\.([\w-]+))?\.safetensors(?:\.index(?:\.([\w-]+))?\.json)?$/;
const SHARD = /-\d{5}-of-\d{5}\.safetensors$/;
/** Half precision first, which is what is fetched where there is the choice: the same images from half the bytes. */
const VARIANTS = ['fp16', '', 'bf16', 'fp32'];

/** The file with a folder's weights, or the index of its shards. */
export function chooseWeights(folder: Folder, names: readonly string[]): string {
  const found = names
    .filter((name) => !SHARD.test(name))
    .flatMap((name) => {
      const match = WEIGHTS.exec(name);
      return match === null ? [] : [{ name, rank: rankOf(match[1] ?? match[2] ?? '') }];
    })
    .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  const only = names.filter((name) => name.endsWith('.safetensors'));
  const chosen = found[0]?.name ?? (only.length === 1 ? only[0] : undefined);
  if (chosen !== undefined) return chosen;
  throw noWeights(folder.path, names);
}

function rankOf(variant: string): number {
  // Weights before averaging are for training.
  if (variant === 'non_ema') return VARIANTS.length + 1;
  const rank = VARIANTS.indexOf(variant);
  return rank < 0 ? VARIANTS.length : rank;
}

/** Weights of a component; a language model within a model of texts and images has its own names. */
export async function openComponentWeights(folder: Folder): Promise<Weights> {
  const names = await folder.names();
  const weights = await openShards(folder, names, chooseWeights(folder, names));
  return { ...weights, tensors: wrappedTensors(weights.tensors) };
}

/** Weights of the denoiser alone: a .safetensors file, or a folder. Refused where they are quantized already. */
export async function openDenoiserWeights(openFolder: OpenFolder, path: string): Promise<Weights> {
  const slash = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));
  const file = path.slice(slash + 1);
  const isFile = file.endsWith('.safetensors');
  const folder = await openFolder(isFile ? path.slice(0, slash + 1) || '.' : path);
  const names = await folder.names();
  if (isFile && !names.includes(file)) {
    throw new EngineError(
      'model_not_found',
      `there is no file ${path}: give a .safetensors file or a folder`,
      {
        param: 'transformerWeightsPath',
      },
    );
  }
  const weights = await openShards(folder, names, isFile ? file : chooseWeights(folder, names));
  const problem = quantizedSign(weights.tensors);
  if (problem === null) return weights;
  await Promise.all(weights.sources.map((source) => source.close()));
  throw new EngineError(
    'bad_request',
    say`${path} holds weights that are quantized already (${problem}), which this version does not run: give plain f32, f16 or bf16 weights, and ${option('quantization')} int8 or int4 to pack them while loading`,
    { param: 'transformerWeightsPath' },
  );
}

function noWeights(path: string, names: readonly string[]): EngineError {
  const pickle = names.find((name) => /\.(bin|pt|pth|ckpt)$|\.bin\.index\.json$/.test(name));
  if (pickle !== undefined) {
    return new EngineError(
      'unsupported',
      `${path} holds its weights as a Python pickle (${pickle}), which can run code when it is read: fetch a revision with safetensors, or convert it`,
      { param: pickle },
    );
  }
  const gguf = names.find((name) => /\.gguf$/i.test(name));
  if (gguf !== undefined) {
    return new EngineError('unsupported', `${path} holds only GGUF weights (${gguf}), and ${GGUF_REMEDY}`, {
      param: gguf,
    });
  }
  return new EngineError(
    'bad_checkpoint',
    say`${path} has no safetensors weights (diffusion_pytorch_model.safetensors or model.safetensors): fetch the pipeline again, or where its repository has none, put another in its place with ${option('componentPaths')}`,
    { param: 'diffusion_pytorch_model.safetensors' },
  );
}
