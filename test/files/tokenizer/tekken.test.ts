// tekken.json against mistral-common (scripts/reference/mistral.py), and damaged files.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readFolderTokenizer } from '../../../src/files/checkpoint/checkpoint.ts';
import { readProcessors } from '../../../src/files/checkpoint/processors.ts';
import type { Folder } from '../../../src/files/source.ts';
import { tekkenFiles } from '../../../src/files/tokenizer/tekken.ts';
import { memorySource } from '../memory-source.ts';

const read = (name: string): string =>
  readFileSync(new URL(`../../golden/tekken/${name}`, import.meta.url), 'utf8');
const file = JSON.parse(read('tekken.json')) as Record<string, unknown> & {
  config: Record<string, unknown>;
  vocab: { rank: number; token_bytes: string }[];
  special_tokens: object[];
};
const texts = JSON.parse(read('texts.json')) as [text: string, ids: number[]][];
/** Special tokens, and the ranks of the vocabulary that are used. */
const [SPECIALS, RANKS] = [100, 900];

const folderOf = (files: Record<string, unknown>): Folder => ({
  path: '/m',
  names: () => Promise.resolve(Object.keys(files)),
  open: (name) => Promise.resolve(memorySource(name, new TextEncoder().encode(JSON.stringify(files[name])))),
});
const open = (json: unknown, config = {}) => readFolderTokenizer(folderOf({ 'tekken.json': json }), config);

it('tekken.json gives the ids of mistral-common, and texts back', async () => {
  const tokenizer = await open(file);
  expect(tokenizer.vocabSize).toBe(SPECIALS + RANKS);
  expect(tokenizer.highestId).toBe(SPECIALS + RANKS - 1);
  for (const [text, ids] of texts) {
    expect(tokenizer.encode(text, { addSpecialTokens: false }), JSON.stringify(text)).toEqual(ids);
    expect(tokenizer.decode(ids)).toBe(text);
  }
  expect(texts.length).toBeGreaterThan(200);
});

it('tekken.json has its special tokens', async () => {
  const tokenizer = await open(file, { eos_token: '[/INST]' });
  expect(tokenizer.specials).toEqual({
    bos_token: '<s>',
    eos_token: '[/INST]',
    unk_token: '<unk>',
    pad_token: '<pad>',
  });
  expect((await open(file)).eosId).toBe(2);
  const [space] = tokenizer.encode(' ', { addSpecialTokens: false });
  expect(tokenizer.encode('<s>[INST] <SPECIAL_99>')).toEqual([1, 1, 3, space, 99]);
  expect(tokenizer.decode([1, 3, space!, 99])).toBe(' ');
  expect(tokenizer.tokenToId('[ARGS]')).toBe(27);
  expect(tokenizer.chat).toMatchObject({ version: 'v11', efforts: null });
});

it('tekken.json of a version before 11 may leave its special tokens out', async () => {
  const { special_tokens: _, ...older } = { ...file, config: { ...file.config, version: 'v3' } };
  const tokenizer = await open(older);
  expect(tokenizer.encode('[IMG][TOOL_CONTENT]<SPECIAL_20>')).toEqual([1, 10, 19, 20]);
});

it('tekken.json is read if there is no tokenizer.json', async () => {
  const words = { model: { type: 'WordLevel', vocab: { a: 0 }, unk_token: 'a' } };
  const tokenizer = await readFolderTokenizer(folderOf({ 'tekken.json': file, 'tokenizer.json': words }), {});
  expect([tokenizer.vocabSize, tokenizer.chat]).toEqual([1, null]);
});

it('tekken.json stands for the files of processors if there are none', async () => {
  const files = { 'tekken.json': { ...file, image: undefined, multimodal: file['image'] } };
  expect(await readProcessors(folderOf(files), Object.keys(files))).toEqual({
    'preprocessor_config.json': {
      feature_size: 20,
      hop_length: 160,
      n_fft: 400,
      sampling_rate: 16_000,
      chunk_length: 1,
    },
    'processor_config.json': { patch_size: 14, spatial_merge_size: 2 },
  });
  const pictures = { 'tekken.json': { ...file, audio: undefined } };
  expect(await readProcessors(folderOf(pictures), Object.keys(pictures))).toMatchObject({
    'preprocessor_config.json': { size: { longest_edge: 56 } },
  });
  const own = { ...files, 'preprocessor_config.json': { feature_size: 3 } };
  expect(await readProcessors(folderOf(own), Object.keys(own))).toEqual({
    'preprocessor_config.json': { feature_size: 3 },
  });
});

describe('tekken.json is refused', () => {
  const { config, vocab, special_tokens: specials } = file;
  const exchanged = [...vocab.slice(0, 400), vocab[401]!, vocab[400]!, ...vocab.slice(402)];
  const repeated = vocab.map((token, at) =>
    at === 500 ? { ...token, token_bytes: vocab[499]!.token_bytes } : token,
  );
  it.each([
    ['no expression', { config: { ...config, pattern: 1 } }, /config\.pattern is 1, an expression/],
    ['an expression that may never end', { config: { ...config, pattern: '(a+)+b' } }, /exponential time/],
    ['no number of tokens', { config: { ...config, default_vocab_size: '9' } }, /default_vocab_size is "9"/],
    ['too few tokens', { vocab: vocab.slice(0, 600) }, /vocab is 600 tokens, a list of at least 900/],
    ['no vocabulary', { vocab: {} }, /vocab is {}, a list/],
    ['ranks in another order', { vocab: exchanged }, /where the token of rank 400 is needed/],
    ['other single bytes', { vocab: [{ ...vocab[1], rank: 0 }, ...vocab.slice(1)] }, /token of rank 0/],
    ['no base64', { vocab: [{ rank: 0, token_bytes: 'é' }, ...vocab.slice(1)] }, /token of rank 0/],
    ['tokens twice', { vocab: repeated }, /1 tokens of vocab repeat/],
    ['no special tokens', { special_tokens: null }, /special_tokens is left out.*version "v11" need/],
    [
      'a special token twice',
      { special_tokens: [...specials, { rank: 33, token_str: '<s>' }] },
      /has "<s>" twice/,
    ],
    [
      'a rank twice',
      { special_tokens: [...specials, { rank: 0, token_str: 'x' }] },
      /no rank of its own below 34/,
    ],
    [
      'too many',
      { config: { ...config, default_num_special_tokens: 9 } },
      /special_tokens are 33, and .* is 9/,
    ],
    [
      'a default that is no value',
      { model_settings_builder: { reasoning_effort: { values: ['high'], default: 'low' } } },
      /model_settings_builder\.reasoning_effort is/,
    ],
  ])('with %s', async (_, change, message) => {
    await expect(open({ ...file, ...change })).rejects.toThrow(message);
    await expect(open({ ...file, ...change })).rejects.toMatchObject({
      code: 'bad_checkpoint',
      param: 'tekken.json',
    });
  });

  it('if it is no tokenizer at all', () => {
    expect(() => tekkenFiles({})).toThrow(/tekken\.json: config\.pattern is left out/);
  });
});
