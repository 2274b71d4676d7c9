// Qwen3-ASR in the layout in which it was first published, with everything within a `thinker`: the golden checkpoint under other names.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { readTensors, writeTensors } from '../../image/tiny-tensors.ts';
import { openMediaModel } from './media-golden.ts';
import { soundGolden, soundRequest } from './sound-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const { path: golden, sounds, conversations } = soundGolden('qwen3-asr');

const NAMES: readonly (readonly [there: string, first: string])[] = [
  ['model.language_model.', 'thinker.model.'],
  ['model.multi_modal_projector.linear_', 'thinker.audio_tower.proj'],
  ['model.', 'thinker.'],
  ['lm_head.', 'thinker.lm_head.'],
];
const renamed = (name: string): string => {
  const [there, first] = NAMES.find(([prefix]) => name.startsWith(prefix))!;
  return first + name.slice(there.length);
};

let folder: string;
let model: TextModel;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-thinker-'));
  for (const name of ['tokenizer.json', 'tokenizer_config.json'])
    copyFileSync(join(golden, name), join(folder, name));
  const read = (name: string) =>
    JSON.parse(readFileSync(join(golden, name), 'utf8')) as Record<string, unknown>;
  const write = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value));
  const { architectures, model_type, ...thinker } = read('config.json');
  write('config.json', { architectures, model_type, thinker_config: thinker });
  const { n_window: _, min_length: __, ...processor } = read('preprocessor_config.json');
  write('preprocessor_config.json', { ...processor, feature_extractor_type: 'WhisperFeatureExtractor' });
  const tensors = await readTensors(join(golden, 'model.safetensors'));
  const named = [...tensors].map(([name, tensor]) => ({ ...tensor, name: renamed(name) }));
  writeTensors(join(folder, 'model.safetensors'), named);
  model = await openMediaModel({ path: folder }, { prefillChunk: 16 });
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true });
});

it('Qwen3-ASR within its thinker makes the tokens of transformers', async () => {
  expect(model.info.media).toEqual(['audio']);
  for (const one of conversations.slice(0, 2)) {
    const ids: number[] = [];
    for await (const event of model.generate(soundRequest({ sounds }, one)))
      if (event.type === 'delta') ids.push(...event.ids);
    expect(ids, one.name).toEqual(one.greedy);
  }
});
