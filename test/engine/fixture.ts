// The golden checkpoints with a tokenizer and a chat template beside them, in a temporary folder: a token for each
// printable byte, and fillers up to the vocabulary.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Platform } from '../../src/engine/platform/platform.ts';
import { nodePlatform } from '../../src/host/node/platform.ts';
import { TEXT } from '../../src/host/kinds/text.ts';
import { openInline } from '../../src/host/open.ts';
import type {
  TextEvent,
  TextModel,
  TextModelOptions,
  TextRequest,
} from '../../src/engine/text/calls/text-model.ts';
import { writeTokenizer } from './checkpoint-folder.ts';

export type GoldenName =
  | 'deepseek-v3'
  | 'deepseek-v32'
  | 'bloom'
  | 'llama'
  | 'mistral'
  | 'qwen2'
  | 'qwen3'
  | 'qwen2-moe'
  | 'qwen3-moe'
  | 'gpt-oss-mxfp4'
  | 'olmoe'
  | 'lfm2'
  | 'qwen3-next'
  | 'granite-hybrid'
  | 'falcon-h1';

export interface GoldenCase {
  name: string;
  weights: 'stored' | 'int8' | 'int4';
  config: Record<string, unknown>;
  rope: { rule: string; static_length?: number };
  input_ids: number[];
  greedy?: { prompt_ids: number[]; tokens: number[] };
  routed?: number[][][];
}

/** Packed weights go to a cache that ends with the process; drivers and their compiled shaders stay where they are. */
export const CACHE = mkdtempSync(join(tmpdir(), 'svc-cache-'));
keepDrivers(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'));
process.env['XDG_CACHE_HOME'] = CACHE;

function keepDrivers(own: string): void {
  process.env['MESA_SHADER_CACHE_DIR'] ??= own;
  const drivers = join('svc-engine', 'vulkan');
  if (!existsSync(join(own, drivers))) return;
  mkdirSync(join(CACHE, 'svc-engine'));
  symlinkSync(join(own, drivers), join(CACHE, drivers));
}

const GOLDEN = fileURLToPath(new URL('../golden/', import.meta.url));

export function goldenCases(name: GoldenName): GoldenCase[] {
  return (JSON.parse(readFileSync(join(GOLDEN, `${name}.json`), 'utf8')) as { cases: GoldenCase[] }).cases;
}

/** A folder that opens as a model; `overrides` are laid over config.json. The weights are copies. */
export function goldenModel(
  name: GoldenName,
  overrides: Record<string, unknown> = {},
): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svc-golden-'));
  for (const file of readdirSync(join(GOLDEN, name))) {
    if (file !== 'config.json') copyFileSync(join(GOLDEN, name, file), join(path, file));
  }
  const config = JSON.parse(readFileSync(join(GOLDEN, name, 'config.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  writeFileSync(join(path, 'config.json'), JSON.stringify({ ...config, ...overrides }));
  writeTokenizer(path);
  return { path, remove: () => rmSync(path, { recursive: true }) };
}

export async function openGolden(
  name: GoldenName,
  options: Partial<TextModelOptions> & { config?: Record<string, unknown> } = {},
  platform: Platform = nodePlatform,
): Promise<TextModel> {
  const { config, ...rest } = options;
  const folder = goldenModel(name, config);
  try {
    return await openInline(TEXT, platform, {
      model: folder.path,
      safe: true,
      memoryBudget: 2 ** 30,
      ...rest,
    });
  } finally {
    folder.remove();
  }
}

/** All ids of a request by choice, and how each ended. */
export async function collect(
  events: AsyncIterable<TextEvent>,
): Promise<{ ids: number[][]; text: string[]; ends: TextEvent[] }> {
  const result = { ids: [] as number[][], text: [] as string[], ends: [] as TextEvent[] };
  for await (const event of events) {
    if (event.type === 'delta') {
      (result.ids[event.choice] ??= []).push(...event.ids);
      result.text[event.choice] = (result.text[event.choice] ?? '') + event.text;
    } else if (event.type === 'done') result.ends.push(event);
  }
  return result;
}

export function greedy(ids: number[], maxTokens: number): TextRequest {
  return { prompt: { ids }, temperature: 0, maxTokens, ignoreEos: true };
}
