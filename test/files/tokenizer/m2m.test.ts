// M2M-100's tokenizer against transformers' class, and settings that are not known.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { m2mTokenizer } from '../../../src/files/tokenizer/m2m.ts';
import { withOwnTokens } from '../../../src/files/tokenizer/sentencepiece.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

const golden = JSON.parse(
  readFileSync(new URL('../../golden/m2m-tokenizer.json', import.meta.url), 'utf8'),
) as { model: string; tokens: string[]; texts: string[]; ids: number[][]; decoded: string[] };
const model = Uint8Array.from(Buffer.from(golden.model, 'base64'));
const vocabulary = Object.fromEntries(golden.tokens.map((token, id) => [token, id]));

it('the tokenizer of M2M-100 has the ids of transformers, the language first, and the texts of ids', () => {
  const tokenizer = openTokenizer({
    tokenizerJson: m2mTokenizer(model, vocabulary, { src_lang: 'de' }),
    tokenizerConfig: withOwnTokens({}),
  });
  expect(golden.texts.map((text) => tokenizer.encode(text))).toEqual(golden.ids);
  expect(tokenizer.encode('')).toEqual([tokenizer.tokenToId('__de__'), tokenizer.eosId]);
  const texts = golden.ids.map((ids) => tokenizer.decode(ids, { skipSpecialTokens: true }));
  expect(texts.map((text) => text.trim())).toEqual(golden.decoded.map((text) => text.trim()));
});

it('a text is English where the config names no language, and its languages are those of the class', () => {
  const tokenizer = openTokenizer({
    tokenizerJson: m2mTokenizer(model, vocabulary, { src_lang: null, language_codes: 'wmt21' }),
  });
  expect(tokenizer.encode('')[0]).toBe(golden.tokens.length);
  expect(tokenizer.tokenToId('__de__')).toBe(golden.tokens.length + 7);
  const refused = (config: object) => () => m2mTokenizer(model, vocabulary, { ...config });
  expect(refused({ src_lang: 'Deutsch' })).toThrow('tokenizer_config.json: src_lang is "Deutsch"');
  expect(refused({ language_codes: 'all' })).toThrow('language_codes is "all", which is not known');
});
