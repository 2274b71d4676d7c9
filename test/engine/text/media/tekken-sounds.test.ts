// Voxtral as it is published, with tekken.json as its only tokenizer and no template: the golden checkpoint under other ids, its embedding's rows
// in their order, against what transformers generates.

import { mkdtempSync, rmSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { STAND_INS } from '../../../../src/files/tokenizer/encode/stand-ins.ts';
import { readTensors, writeTensors } from '../../image/tiny-tensors.ts';
import { openMediaModel } from './media-golden.ts';
import { soundGolden, soundRequest, type SoundConversation } from './sound-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const { path: golden, sounds, conversations } = soundGolden('voxtral');
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const tekken = readJson(fileURLToPath(new URL('../../../golden/tekken/tekken.json', import.meta.url))) as {
  config: object;
  special_tokens: { token_str: string }[];
};

const TEXTS = [
  ...tekken.special_tokens.slice(0, 20).map((token) => token.token_str),
  '[AUDIO]',
  '[BEGIN_AUDIO]',
];
const AUDIO = TEXTS.indexOf('[AUDIO]');
const ROWS = TEXTS.length + 256;

/** Id of the golden → id of tekken.json. */
const NEW_IDS: number[] = [];
{
  const { added_tokens: added, model } = readJson(join(golden, 'tokenizer.json')) as {
    added_tokens: { id: number; content: string }[];
    model: { vocab: Record<string, number> };
  };
  for (const [letter, id] of Object.entries(model.vocab))
    NEW_IDS[id] = TEXTS.length + STAND_INS[letter.charCodeAt(0)]!;
  for (const { id, content } of added) NEW_IDS[id] = TEXTS.indexOf(content);
}
const renamed = (ids: readonly number[]): number[] => ids.map((id) => NEW_IDS[id]!);

let folder: string;
let model: TextModel;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-tekken-'));
  const config = readJson(join(golden, 'config.json')) as { text_config: object };
  const text = { ...config.text_config, vocab_size: ROWS, eos_token_id: 2 };
  const write = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value));
  write('config.json', { ...config, audio_token_id: AUDIO, text_config: text });
  write('tekken.json', {
    ...tekken,
    config: {
      ...tekken.config,
      ...{ version: 'v7', default_vocab_size: ROWS, default_num_special_tokens: TEXTS.length },
    },
    special_tokens: TEXTS.map((token_str, rank) => ({ rank, token_str, is_control: true })),
  });
  const tensors = new Map(await readTensors(join(golden, 'model.safetensors')));
  for (const name of ['language_model.lm_head.weight', 'language_model.model.embed_tokens.weight']) {
    const stored = tensors.get(name)!;
    const [rows, columns] = stored.shape as [number, number];
    const bytes = new Uint8Array(ROWS * columns * 2);
    for (let id = 0; id < rows; id++)
      bytes.set(stored.bytes.subarray(id * columns * 2, (id + 1) * columns * 2), NEW_IDS[id]! * columns * 2);
    tensors.set(name, { ...stored, shape: [ROWS, columns], bytes });
  }
  writeTensors(join(folder, 'model.safetensors'), tensors.values());
  model = await openMediaModel({ path: folder }, { prefillChunk: 16 });
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true });
});

async function run(conversation: SoundConversation) {
  const events = [];
  for await (const event of model.generate(soundRequest({ sounds }, conversation))) events.push(event);
  const accepted = events.find((event) => event.type === 'accepted');
  return {
    prompt: accepted?.promptIds,
    ids: events.flatMap((event) => (event.type === 'delta' ? event.ids : [])),
  };
}

it('Voxtral with tekken.json gives the prompt and the tokens of transformers under their new ids', async () => {
  expect(model.info).toMatchObject({ media: ['audio'], hasChatTemplate: true });
  for (const one of conversations)
    expect(await run(one), one.name).toEqual({ prompt: renamed(one.ids), ids: renamed(one.greedy) });
  expect(conversations[0]!.greedy.length).toBe(24);
});

it('Voxtral with tekken.json tokenizes and detokenizes text', async () => {
  const ids = await model.tokenize('é [INST]');
  expect(ids).toEqual([1, TEXTS.length + 0xc3, TEXTS.length + 0xa9, TEXTS.length + 0x20, 3]);
  expect(await model.detokenize(ids)).toContain('é ');
});
