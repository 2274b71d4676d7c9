// Checkpoint folders that tests make up, in memory.

import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import type { KnownClasses } from '../../../src/files/checkpoint/architecture.ts';
import { safetensorsHead, tensorBytes } from '../../../src/files/tensors/safetensors.ts';
import { EngineError } from '../../../src/files/error.ts';
import type { Folder } from '../../../src/files/source.ts';
import { memorySource } from '../memory-source.ts';

export type Content = string | object | Uint8Array;

interface Opened extends Folder {
  /** Sources that were opened and not closed. */
  leftOpen: Set<string>;
}

export function folderOf(files: Record<string, Content>): Opened {
  const left = new Set<string>();
  return {
    path: '/m',
    leftOpen: left,
    names: async () => Object.keys(files),
    open: async (name) => {
      const content = files[name];
      if (content === undefined) throw new EngineError('bad_checkpoint', `${name} is missing`);
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      const source = memorySource(
        name,
        content instanceof Uint8Array ? content : new TextEncoder().encode(text),
      );
      left.add(name);
      return { ...source, close: async () => void left.delete(name) };
    },
  };
}

/** A shard with these tensors, each one float, all zero but the last byte. */
export function shard(...names: string[]): Uint8Array {
  const specs = names.map((name) => ({ name, dtype: 'F32' as const, shape: [1] }));
  const head = safetensorsHead(specs);
  const bytes = new Uint8Array(head.length + specs.reduce((sum, spec) => sum + tensorBytes(spec), 0));
  bytes.set(head);
  return bytes;
}

export const CLASSES: KnownClasses = {
  names: ['LlamaForCausalLM', 'MistralForCausalLM'],
  modelTypes: new Map([
    ['llama', 'LlamaForCausalLM'],
    ['mistral', 'MistralForCausalLM'],
    ['bert', 'BertModel'],
  ]),
  embeddings: ['BertModel'],
  purpose: 'run',
  role: 'AutoModelForCausalLM',
};
export const config = { architectures: ['LlamaForCausalLM'], model_type: 'llama' };
export const whole = { 'config.json': config, 'model.safetensors': shard('a', 'b') };
export const sharded = (map: unknown, shards: Record<string, Uint8Array>) => ({
  'config.json': config,
  'model.safetensors.index.json': { metadata: {}, weight_map: map },
  ...shards,
});
export const open = (files: Record<string, Content>) => openCheckpoint(folderOf(files), CLASSES);

export async function refusal(files: Record<string, Content>): Promise<EngineError> {
  const folder = folderOf(files);
  const error: unknown = await openCheckpoint(folder, CLASSES).catch((e: unknown) => e);
  if (!(error instanceof EngineError)) throw new Error(`refused with ${String(error)}`);
  if (folder.leftOpen.size > 0) throw new Error(`left open: ${[...folder.leftOpen].join(', ')}`);
  return error;
}
