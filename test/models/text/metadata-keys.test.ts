// The configuration that a GGUF file's metadata makes: errors about a key name what the file has for it.

import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint, type Checkpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { metadataKeys } from '../../../src/models/text/blocks/gguf-config.ts';
import { ggufClasses, readText } from '../../../src/models/text/registry.ts';

const ROOT = fileURLToPath(new URL('../../golden/gguf', import.meta.url));
/** Files of language models, by their folders. */
const FILES = readdirSync(ROOT).filter(
  (name) => existsSync(`${ROOT}/${name}/model.gguf`) && !/bert/.test(name),
);

async function opened(name: string): Promise<Checkpoint> {
  const checkpoint = await openCheckpoint(await openDiskFolder(`${ROOT}/${name}/model.gguf`), TEXT_CLASSES);
  await checkpoint.close();
  return checkpoint;
}

it.each(FILES)('the GGUF file of %s names each number and each list of the configuration', async (name) => {
  const { config, configSource } = await opened(name);
  const architecture = configSource.metadata!;
  const known = metadataKeys(architecture, ggufClasses().get(architecture)?.keys);
  const values = Object.entries(config).filter(([, value]) =>
    Array.isArray(value) ? value.length > 0 : typeof value === 'number',
  );
  expect(values.length).toBeGreaterThan(8);
  expect(values.map(([key]) => key).filter((key) => !(key in known))).toEqual([]);
});

it.each([
  ['qwen3-next', { linear_num_value_heads: 3 }, 'qwen3next.ssm.time_step_rank is 3, no multiple of'],
  ['qwen3-5', { linear_key_head_dim: 6 }, 'qwen35.ssm.state_size 6 is not built'],
  ['gemma4', { num_kv_shared_layers: 99 }, 'gemma4.attention.shared_kv_layers '],
  ['gemma4-e', { hidden_size_per_layer_input: 6 }, 'gemma4.embedding_length_per_layer_input 6 is not built'],
  ['gemma4', { layer_types: ['mamba'] }, 'gemma4.attention.sliding_window_pattern is '],
  ['lfm2', { conv_L_cache: 0 }, 'lfm2.shortconv.l_cache is 0'],
])('the metadata key of %s for %j is named in a refusal', async (name, change, message) => {
  const { config, architecture, configSource } = await opened(name);
  expect(() => readText({ ...config, ...change }, architecture, configSource)).toThrow(
    `model.gguf: ${message}`,
  );
});
