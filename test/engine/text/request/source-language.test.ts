// Languages before sources, with M2M-100's tokenizer.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { languageNote, withOwnLanguage } from '../../../../src/engine/text/request/source-language.ts';
import { m2mTokenizer } from '../../../../src/files/tokenizer/m2m.ts';
import { withOwnTokens } from '../../../../src/files/tokenizer/sentencepiece.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';

const golden = JSON.parse(
  readFileSync(new URL('../../../golden/m2m-tokenizer.json', import.meta.url), 'utf8'),
) as { model: string; tokens: string[] };
const vocabulary = Object.fromEntries(golden.tokens.map((token, id) => [token, id]));
const tokenizer = openTokenizer({
  tokenizerJson: m2mTokenizer(Uint8Array.from(Buffer.from(golden.model, 'base64')), vocabulary, {}),
  tokenizerConfig: withOwnTokens({}),
});

it('a text that begins with the token of its language is read as that', () => {
  const idOf = (text: string) => tokenizer.tokenToId(text);
  const read = (text: string) => withOwnLanguage(tokenizer.encode(text), tokenizer);
  expect(read('the day')).toEqual(tokenizer.encode('the day'));
  expect(read('the day')[0]).toBe(idOf('__en__'));
  expect(read('__de__ the day')).toEqual([idOf('__de__'), ...tokenizer.encode('the day').slice(1)]);
  // Other special tokens, a text in which a token stands elsewhere, and an empty one.
  expect(read('<pad> day')[0]).toBe(idOf('__en__'));
  expect(read('the __de__ day')[0]).toBe(idOf('__en__'));
  expect(read('')).toEqual([idOf('__en__'), tokenizer.eosId]);
  expect(languageNote(tokenizer)).toMatch(/^texts are read as __en__, /);
});

it('tokenizers that put no language before texts have no note', () => {
  const plain = openTokenizer(byteLevel());
  expect(languageNote(plain)).toBeNull();
  expect(withOwnLanguage([1, 2, 3], plain)).toEqual([1, 2, 3]);
});
