// Refusals of files that hold no model which can be opened, by the names of their tensors: models that are not built in, LoRAs, and
// components without a denoiser.

import { option, say, type Prose } from '../message.ts';
import { talksWith } from '../openers.ts';
import { unsupported } from '../error.ts';
import { findPart } from './file-parts.ts';
import type { FileTensor } from './float8-tensors.ts';
import type { KnownPipelines } from './pipeline-classes.ts';

/** Names of LoRAs' tensors: kohya's, PEFT's and diffusers', LyCORIS'. */
const ADAPTER =
  /\.(lora_(up|down|mid)|lora_[AB](\.\w+)?|hada_w[12]_[ab]|lokr_w[12](_[ab])?|dora_scale|oft_blocks|alpha)(\.weight)?$/;
/** Tensors of an embedding that stands for words. */
const INVERSION = /^(emb_params|clip_[lg])$/;
/** Tensors of language models, their encoders and their towers in llama.cpp's files. */
const LANGUAGE_MODEL = /^(token_embd|v\.patch_embd|enc\.output_norm)\./;

/**
 * Tensors of language models in the names of transformers; a shard may hold only layers. Text encoders of CLIP and T5 have other names, and
 * LoRAs have endings of their own.
 */
const TRANSFORMERS_MODEL =
  /(^|\.)layers\.\d+\.(input_layernorm|self_attn\.o_proj)\.weight$|^((\w+\.)*(model|language_model)\.)?embed_tokens\.weight$|^(transformer\.wte|gpt_neox\.embed_in|(\w+\.)?embeddings\.word_embeddings|lm_head)\.weight$/;

/** Throws unsupported for a file that no family reads. */
export function refuseFile(
  path: string,
  tensors: ReadonlyMap<string, FileTensor>,
  known: KnownPipelines,
): never {
  throw unsupported(say`${path} ${problemOf(path, tensors, known)}`, 'model');
}

function problemOf(path: string, tensors: ReadonlyMap<string, FileTensor>, known: KnownPipelines): Prose {
  const names = [...tensors.keys()];
  if (names.length === 0) return 'holds no tensors: fetch it again';
  if (names.some((name) => LANGUAGE_MODEL.test(name)))
    return say`holds a language model or a part of one, which draws nothing: ${talksWith(path)}, and a text encoder of an image model is given with ${option('componentPaths')}`;
  if (names.some((name) => TRANSFORMERS_MODEL.test(name)))
    return say`holds weights of a language model, which is opened by its folder: give ${folderText(path)} with its config.json and tokenizer (${talksWith(folderText(path))}), or give the text encoder of an image model to ${option('componentPaths')}`;
  const unbuilt = known.unbuiltFiles.find(({ signs }) =>
    signs.every((sign) => names.some((name) => sign.test(name))),
  );
  if (unbuilt !== undefined)
    return `is ${unbuilt.holds}, which is not built in: this version runs ${namesOfFamilies(known)}`;
  if (names.some((name) => ADAPTER.test(name)))
    return say`is a LoRA and not a model: give the model that it was trained for, and this with ${option('loraPath')}`;
  if (names.length <= 2 && names.every((name) => INVERSION.test(name)))
    return say`is a textual inversion, which stands for words, and not a model: give the model that it was trained for, and this with ${option('textualInversionPath')}`;
  const component = componentOf(tensors, known);
  if (component !== null)
    return say`holds ${component} and no denoiser: give a model, and this file as its ${component} with ${option('componentPaths')}`;
  return `holds tensors such as ${names[0] ?? ''}, which no family that is built in has: this version reads files of ${namesOfFamilies(known)}, and folders with model_index.json`;
}

/** The folder of a file by the path as a user wrote it, for messages. */
function folderText(path: string): string {
  const at = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));
  return at > 0 ? path.slice(0, at) : 'the folder that it lies in';
}

/** The component that a file holds alone; null: none. */
function componentOf(tensors: ReadonlyMap<string, FileTensor>, { layouts }: KnownPipelines): string | null {
  for (const { parts, denoiser } of layouts)
    for (const [component, candidates] of Object.entries(parts))
      if (component !== denoiser && findPart(tensors, candidates) !== null) return component;
  return null;
}

function namesOfFamilies({ classes }: KnownPipelines): string {
  return [...new Set([...classes.values()].map(({ family }) => family))].join(', ');
}
