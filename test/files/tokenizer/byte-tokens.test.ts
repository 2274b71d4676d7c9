// ByT5's tokens by transformers, which adds the end of a text.

import { expect, it } from 'vitest';
import { byteTokenizer } from '../../../src/files/tokenizer/byte-tokens.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

const tokenizer = openTokenizer(byteTokenizer({}));

it.each([
  ['Text "café". ', [87, 104, 123, 119, 35, 37, 102, 100, 105, 198, 172, 37, 49, 35]],
  ['a\n🎈 </s> b <pad>c', [100, 13, 243, 162, 145, 139, 1, 101, 0, 102]],
  ['', []],
])('tokens of %j are its bytes', (text, ids) => {
  expect(tokenizer.encode(text, { addSpecialTokens: false })).toEqual(ids);
});

it('bytes are a text again', () => {
  const text = 'Zürich, 山 🎈';
  expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  expect(tokenizer.eosId).toBe(1);
});
