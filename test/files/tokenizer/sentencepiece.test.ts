// T5's spiece.model against transformers' class, and damaged files.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readFolderTokenizer } from '../../../src/files/checkpoint/checkpoint.ts';
import { EngineError } from '../../../src/files/error.ts';
import type { Folder } from '../../../src/files/source.ts';
import { spieceTokenizer, withOwnTokens } from '../../../src/files/tokenizer/sentencepiece.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { memorySource } from '../memory-source.ts';

interface Golden {
  model: string;
  texts: string[];
  cases: { config: Record<string, unknown>; size: number; ids: number[][] }[];
}

const { sentencePiece: golden } = JSON.parse(
  readFileSync(new URL('../../golden/tokenizers.json', import.meta.url), 'utf8'),
) as { sentencePiece: Golden };
const model = Uint8Array.from(Buffer.from(golden.model, 'base64'));

const open = (bytes: Uint8Array, config: Record<string, unknown> = {}) =>
  openTokenizer({ tokenizerJson: spieceTokenizer(bytes, config), tokenizerConfig: withOwnTokens(config) });

const folder: Folder = {
  path: '/t5',
  names: () => Promise.resolve(['spiece.model']),
  open: (name) => Promise.resolve(memorySource(name, model)),
};

it.each(golden.cases)('SentencePiece gives the ids of Python with $config', async ({ config, size, ids }) => {
  const tokenizer = await readFolderTokenizer(folder, config);
  expect(tokenizer.vocabSize).toBe(size);
  golden.texts.forEach((text, at) => {
    expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(ids[at]);
  });
  expect(tokenizer.specials).toMatchObject({ eos_token: '</s>', pad_token: '<pad>' });
  expect(tokenizer.tokenToId('<pad>')).toBe(0);
});

describe('a SentencePiece tokenizer is refused', () => {
  it.each([
    [
      { tokenizer_class: 'AlbertTokenizer' },
      'spiece.model is read for T5Tokenizer, and this one is for "AlbertTokenizer"',
    ],
    [{ extra_ids: -1 }, 'extra_ids of the tokenizer is -1, an integer from 0 to 10000 is needed'],
    [{ eos_token: '<end>' }, 'its pieces lack the end token "<end>"'],
  ])('with %j', (config, message) => {
    expect(() => open(model, config)).toThrow(message);
  });

  it.each([
    [[], 'it has no piece for unknown text'],
    [[0x0a, 0x7f], 'is damaged at byte 2 of a message'],
    [[0x0b], 'is damaged at byte 1 of a message'],
    [Array<number>(11).fill(0xff), 'is damaged at byte 10 of a message'],
    [
      [0x12, 2, 0x18, 2],
      'spiece.model is not a tokenizer that can be read: its model_type is 2, and 1 (unigram) is needed',
    ],
  ])('with the bytes %j', (bytes, message) => {
    expect(() => open(Uint8Array.from(bytes))).toThrow(message);
  });

  it('or reads texts, whichever byte is changed', () => {
    let refused = 0;
    for (let at = 0; at < model.length; at += 5) {
      const damaged = Uint8Array.from(model);
      damaged[at]! ^= 0xff;
      try {
        open(damaged).encode('hello foo_ \ufb01');
      } catch (error) {
        expect(error).toBeInstanceOf(EngineError);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(50);
  });
});
