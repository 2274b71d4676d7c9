// Marian's tokenizer against transformers' class, and damaged vocabularies.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { marianTokenizer } from '../../../src/files/tokenizer/marian.ts';
import { withOwnTokens } from '../../../src/files/tokenizer/sentencepiece.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../golden/${name}`, import.meta.url), 'utf8'));
const { sentencePiece } = read('tokenizers.json') as { sentencePiece: { model: string } };
const golden = read('marian-tokenizer.json') as {
  tokens: string[];
  texts: string[];
  ids: number[][];
  decoded: string[];
};
const model = Uint8Array.from(Buffer.from(sentencePiece.model, 'base64'));
const vocabulary = Object.fromEntries(golden.tokens.map((token, id) => [token, id]));

it('the tokenizer of Marian has the ids of transformers, with languages in front, and the texts of ids', () => {
  const tokenizer = openTokenizer({
    tokenizerJson: marianTokenizer(model, vocabulary, {}),
    tokenizerConfig: withOwnTokens({}),
  });
  expect(golden.texts.map((text) => tokenizer.encode(text))).toEqual(golden.ids);
  const texts = golden.ids.map((ids) => tokenizer.decode(ids, { skipSpecialTokens: true }));
  // Languages are special tokens here.
  expect(texts.map((text) => text.trim())).toEqual(
    golden.decoded.map((text) => text.replace('>>deu<< ', '')),
  );
  expect(tokenizer.eosId).toBe(0);
});

it.each([{ eos_token: { content: '</s>', lstrip: false } }, { eos_token: null, unk_token: null }])(
  'special tokens are texts, objects with their content, or those of the class: %j',
  (config) => {
    expect(marianTokenizer(model, vocabulary, config)).toEqual(marianTokenizer(model, vocabulary, {}));
    expect(withOwnTokens(config)).toMatchObject({ eos_token: '</s>', unk_token: '<unk>' });
  },
);

it('a damaged model is refused by its own name', () => {
  expect(() => marianTokenizer(Uint8Array.from([0x12, 2, 0x18, 2]), vocabulary, {})).toThrow(
    'source.spm is not a tokenizer that can be read: its model_type is 2',
  );
});

it.each([
  [{ ...vocabulary, more: 7 }, 'the id of "more" is 7'],
  [{ '<unk>': 0, '</s>': 1.5 }, 'the id of "</s>" is 1.5'],
  [{ '<unk>': 0 }, 'it lacks the token "</s>"'],
  [null, 'it is no object'],
])('a vocabulary is refused (%#)', (damaged, message) => {
  expect(() => marianTokenizer(model, damaged, {})).toThrow(message);
});
