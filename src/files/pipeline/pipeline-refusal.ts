// Refusals of folders and files that are not image models which can be opened: recognized by their files, with what to use instead.

import { type Message, type Prose, field, option, say } from '../message.ts';
import { talksWith } from '../openers.ts';
import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { ggufSets, setsText } from '../gguf/file-names.ts';
import { isRecord } from '../source.ts';
import { tensorFiles } from '../tensors/tensor-file.ts';

const REMEDY =
  'give a folder or hub id in the diffusers layout (with model_index.json), or a model in one .safetensors file';
/** Most files that a message names. */
const NAMED = 6;

/** Throws for the path of a file, by its ending: a pipeline is a folder. */
export function refuseSingleFile(path: string): void {
  if (/\.(png|jpe?g|webp)$/i.test(path))
    throw refusal(
      path,
      say`is an image, not a model: ${REMEDY}; an image to start from goes with ${field('image')}`,
    );
}

/** Throws for a folder without model_index.json; `config` is its config.json, where there is one. */
export function refuseFolder(
  path: string,
  names: readonly string[],
  config: Record<string, unknown> | null,
): never {
  const has = (pattern: RegExp) => names.find((name) => pattern.test(name));
  const architecture: unknown = Array.isArray(config?.['architectures'])
    ? config['architectures'][0]
    : undefined;
  if (architecture !== undefined || config?.['model_type'] !== undefined) {
    const name = String(architecture ?? config?.['model_type']);
    if (/^(CLIP|T5|UMT5)/.test(name)) throw refusal(path, componentOf(name));
    throw refusal(path, say`is a language model (${name}), which draws nothing: ${talksWith(path)}`);
  }
  if (typeof config?.['_class_name'] === 'string') throw refusal(path, componentOf(config['_class_name']));
  if (has(/^(pytorch_lora_weights\.safetensors|adapter_config\.json)$/) !== undefined) {
    throw refusal(
      path,
      say`is a LoRA, not a model: give the model that it was trained for, and this with ${option('loraPath')}`,
    );
  }
  const files = tensorFiles(names);
  if (files.length > 1) {
    const named = files.slice(0, NAMED).join(', ');
    throw refusal(
      path,
      `holds ${files.length} files of tensors and no model_index.json: name one of them, ${named}${files.length > NAMED ? ' …' : ''}`,
    );
  }
  const sets = ggufSets(names);
  if (sets.length > 1)
    throw refusal(
      path,
      `holds ${sets.length} GGUF files and no model_index.json: name one of them, ${setsText(sets.slice(0, NAMED))}`,
    );
  throw badCheckpoint(`${path} has no model_index.json: ${REMEDY}`, 'model_index.json');
}

/** Throws for a pipeline class or a component that is Python code: `module` as the index file names it. */
export function refuseCode(path: string, module: string, className: string): never {
  throw refusal(
    path,
    `defines ${className} by Python code in its own repository (${module}.py), which is never run: choose a model whose components are diffusers' own`,
  );
}

/** Custom classes are either named as [module, class], or by auto_map. */
export function customModule(index: Record<string, unknown>): { module: string; className: string } | null {
  const pair = index['_class_name'];
  const [library, name]: unknown[] = Array.isArray(pair) ? pair : [];
  if (typeof library === 'string' && typeof name === 'string') return { module: library, className: name };
  const map = index['auto_map'];
  const target = isRecord(map) ? Object.values(map).find((value) => typeof value === 'string') : undefined;
  if (typeof target !== 'string') return null;
  const [module = '', className = ''] = target.split('.');
  return { module, className };
}

const componentOf = (className: string): Message =>
  say`is one component (${className}) of a pipeline: give the folder with model_index.json, and this one with ${option('componentPaths')}`;

function refusal(path: string, reason: Prose): EngineError {
  return unsupported(say`${path} ${reason}`, 'model');
}
