// Texts of added tokens against the Python library, by scripts/reference/added_tokens.py: alone, at the start, behind and before others.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createDetokenizer } from '../../../src/files/tokenizer/detokenizer.ts';
import { openTokenizer, type Tokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from './small-tokenizers.ts';

interface Golden {
  texts: string[];
  cases: {
    name: string;
    json: { decoder: unknown; [part: string]: unknown };
    ids: number[][];
    /** Ids, their text without special tokens, and with them. */
    decodes: [ids: number[], skipped: string, kept: string][];
  }[];
}

const golden = JSON.parse(
  readFileSync(new URL('../../golden/added-tokens.json', import.meta.url), 'utf8'),
) as Golden;

function streamed(tokenizer: Tokenizer, ids: number[], skipSpecialTokens: boolean): string {
  const stream = createDetokenizer(tokenizer, { skipSpecialTokens });
  return ids.map((id) => stream.push(id)).join('') + stream.flush();
}

/** WordPiece and no decoder join words with spaces; their tokens have no bytes of their own. */
const streams = golden.cases.filter(({ json }) => !['WordPiece', undefined].includes(typeOf(json.decoder)));

function typeOf(decoder: unknown): string | undefined {
  return (decoder as { type: string } | null)?.type;
}

describe.each(golden.cases)('added tokens of a tokenizer: $name', ({ json, ids, decodes }) => {
  const tokenizer = openTokenizer({ tokenizerJson: json });
  it('have the texts of the Python library', () => {
    for (const [tokens, skipped, kept] of decodes) {
      expect(tokenizer.decode(tokens), String(tokens)).toBe(skipped);
      expect(tokenizer.decode(tokens, { skipSpecialTokens: false }), String(tokens)).toBe(kept);
    }
  });
  it('are where the Python library has them in a text', () => {
    expect(golden.texts.map((text) => tokenizer.encode(text))).toEqual(ids);
  });
});

describe.each(streams)('added tokens in a stream: $name', ({ json, decodes }) => {
  const tokenizer = openTokenizer({ tokenizerJson: json });
  it('have the same texts', () => {
    for (const [tokens, skipped, kept] of decodes) {
      expect(streamed(tokenizer, tokens, true), String(tokens)).toBe(skipped);
      expect(streamed(tokenizer, tokens, false), String(tokens)).toBe(kept);
    }
  });
  it('have the bytes of their texts behind another token', () => {
    const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
    // Rows of two tokens: an ordinary one in front, which is read alone first.
    const pairs = decodes.filter(([tokens]) => tokens.length === 2 && !tokenizer.specialIds.has(tokens[0]!));
    for (const [[before, id], , kept] of pairs) {
      const alone = tokenizer.decode([before!], { skipSpecialTokens: false });
      if (!kept.startsWith(alone)) continue;
      expect(utf8.decode(tokenizer.tokenBytes(id!)), String(id)).toBe(kept.slice(alone.length));
      expect(tokenizer.tokenText(id!)).toBe(kept.slice(alone.length));
    }
  });
});

it('an added token of a byte-level tokenizer is its own text if its stand-ins are not UTF-8', () => {
  const files = byteLevel();
  const flags = { special: false, normalized: true, lstrip: false, rstrip: false, single_word: false };
  const words = ['ö', 'Ö!', 'Ġx', 'Ã©'].map((content, at) => ({ id: 264 + at, content, ...flags }));
  const json = { ...files.tokenizerJson, added_tokens: [...files.tokenizerJson.added_tokens, ...words] };
  const tokenizer = openTokenizer({ ...files, tokenizerJson: json });
  expect(tokenizer.encode('höi', { addSpecialTokens: false })).toEqual([0x68, 264, 0x69]);
  expect(tokenizer.decode([0x68, 264, 0x69, 265])).toBe('höiÖ!');
  expect(tokenizer.decode([266, 267])).toBe(' xé');
});
