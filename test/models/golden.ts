// The goldens that scripts/reference made: cases of one tiny checkpoint, with the logits transformers computed.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readSafetensors } from '../../src/files/tensors/safetensors.ts';
import { openDiskSource } from '../../src/files/disk/source-disk.ts';

export interface GoldenCase {
  name: string;
  /** Members that override the checkpoint's config.json. */
  config: Record<string, unknown>;
  weights: 'stored' | 'int8' | 'int4';
  rope: { rule: 'fixed' | 'prefill' | 'cached' | 'static'; static_length?: number };
  input_ids: number[];
  /** Rows whose logits are kept. */
  positions: number[];
  greedy?: { prompt_ids: number[]; tokens: number[] };
  /** Experts chosen, best first: [input_ids][layers with experts][experts a token]. */
  routed?: number[][][];
  /** Whether `<name>.states` contains the input of the head. */
  states?: boolean;
}

export interface Golden {
  /** The checkpoint's folder. */
  folder: string;
  storedAs: 'float32' | 'float16' | 'bfloat16';
  cases: GoldenCase[];
  /** [position][vocabulary] */
  logits(name: string): Promise<Float32Array[]>;
}

export const GOLDENS = [
  'llama',
  'mistral',
  'mistral-54',
  'qwen2',
  'qwen3',
  'qwen3-moe',
  'olmoe',
  'gemma',
  'gemma2',
  'gemma3',
  'phi3',
  'smollm3',
  'granite',
  'mixtral',
  'qwen2-moe',
  'olmo2',
  'olmo3',
  'glm',
  'glm4',
  'glm4-moe-lite',
  'glm-moe-dsa',
  'cohere2',
  'deepseek-v2',
  'deepseek-v3',
  'deepseek-v32',
  'starcoder2',
  'lfm2',
  'lfm2-bias',
  'ministral',
  'ministral3',
  'mistral4',
  'mpt',
  'gpt-oss',
  'gpt-oss-mxfp4',
  'gpt-neox',
  'gpt-neox-26',
  'qwen3-next',
  'qwen3-5',
  'gemma3n',
  'gemma4',
  'gemma4-e',
  'ernie4-5',
  'hunyuan',
  'ernie4-5-moe',
  'hunyuan-moe',
  'glm4-moe',
  'dots1',
  'minimax-m2',
  'granite-moe',
  'granite-moe-shared',
  'lfm2-moe',
  'exaone4',
  'phi',
  'phi4mm',
  'phimoe',
  'seed-oss',
  'apertus',
  'stablelm',
  'stablelm-parallel',
  'arcee',
  'nemotron',
  'olmo',
  'helium',
  'cohere',
  'gpt2',
  'bloom',
  'deci',
  'falcon',
  'falcon-40b',
  'falcon-rw',
  'opt',
  'gptj',
  'gpt-bigcode',
  'internlm2',
  'internlm3',
  'exaone',
  'minicpm',
  'minicpm3',
  'llama4',
  'granite-hybrid',
  'bamba',
  'falcon-h1',
  'falcon-h1-norm',
  'nemotron-h',
  'nemotron-h-latent',
  'gemma4-moe',
  'jais2',
  'cwm',
  'vaultgemma',
  'youtu',
];

export function openGolden(name: string): Golden {
  const path = fileURLToPath(new URL(`../golden/${name}`, import.meta.url));
  const { cases, stored_as } = JSON.parse(readFileSync(`${path}.json`, 'utf8')) as {
    cases: GoldenCase[];
    stored_as: Golden['storedAs'];
  };
  return {
    folder: path,
    storedAs: stored_as,
    cases,
    async logits(caseName) {
      const source = await openDiskSource(`${path}.safetensors`);
      try {
        const entry = (await readSafetensors(source)).tensors.get(caseName)!;
        const values = new Float32Array((await source.read(entry.offset, entry.bytes)).buffer);
        const vocabulary = entry.shape.at(-1)!;
        return Array.from({ length: values.length / vocabulary }, (_, i) =>
          values.slice(i * vocabulary, (i + 1) * vocabulary),
        );
      } finally {
        await source.close();
      }
    },
  };
}

/** The sequence length that rotates the row at a position, by the case's rule. */
export function ropeLength({ rope, input_ids, greedy }: GoldenCase, position: number): number {
  const prompt = greedy?.prompt_ids.length ?? input_ids.length;
  if (rope.rule === 'static') return rope.static_length!;
  if (rope.rule === 'cached') return Math.max(prompt, position + 1);
  return input_ids.length;
}
