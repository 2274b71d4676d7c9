// Token ids against the Python library: tokenizers of every kind of part, trained by scripts/reference/text_tokenizers.py, on texts
// around the edges of its character classes.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { clipVocabulary, mergeLines } from '../../../src/files/tokenizer/tokenizer-pair.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

interface Golden {
  texts: string[];
  cases: { name: string; json: Record<string, unknown>; ids: number[][] }[];
  pairs: {
    /** Tokens by id, for classes whose words have an end and for others. */
    plain: string[];
    ended: string[];
    texts: string[];
    cases: { config: Record<string, unknown>; ids: number[][] }[];
  };
}

const golden = JSON.parse(
  readFileSync(new URL('../../golden/tokenizers.json', import.meta.url), 'utf8'),
) as Golden;

describe.each(golden.cases)('the tokenizer $name', ({ json, ids }) => {
  it('gives the ids of the Python library', () => {
    const tokenizer = openTokenizer({ tokenizerJson: json });
    golden.texts.forEach((text, at) => {
      expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(ids[at]);
    });
  });
});

describe('vocab.json with merges.txt', () => {
  const { plain, ended, texts, cases } = golden.pairs;
  it.each(cases)('gives the ids of the Python library by $config', ({ config, ids }) => {
    const isClip = config['tokenizer_class'] === 'CLIPTokenizer';
    const vocab = Object.fromEntries((isClip ? ended : plain).map((token, id) => [token, id]));
    const merges = isClip ? 'h i</w>\n' : 'h i\nĠ hi\n1 2\n';
    const tokenizer = openTokenizer({ vocab, merges: `#version: 0.2\n${merges}`, tokenizerConfig: config });
    expect(texts.map((text) => tokenizer.encode(text))).toEqual(ids);
  });
});

it("CLIP's vocabulary is the one that OpenAI publishes", () => {
  const merges = readFileSync(new URL('../../../models/clip-tokenizer/merges.txt', import.meta.url), 'utf8');
  const tokens = [...clipVocabulary(mergeLines(merges))]
    .sort(([, a], [, b]) => a - b)
    .map(([token]) => token);
  const digest = createHash('sha256').update(tokens.join('\n')).digest('hex');
  expect(digest).toBe('7cccc44d334555d1ff3c0ac5f0246b428fab2918383e77ee745cf30d41010b78');
});

describe('long texts without spaces', () => {
  const SECONDS = 20;
  it.each(golden.cases)(
    'take time in proportion: $name',
    ({ json }) => {
      const tokenizer = openTokenizer({ tokenizerJson: json });
      for (const part of ['a', ' ', '中文', 'e\u0301', '👩‍👩‍👧', '1', '\n '])
        tokenizer.encode(part.repeat(30_000 / part.length));
    },
    SECONDS * 1000,
  );
});

describe("SentencePiece's compiled normalization", () => {
  /** A double-array trie with the keys A and é, each a leaf, and their texts. */
  const charsmap = (): string => {
    const units = new Uint32Array(1024);
    const leaf = 0x100;
    const offset = (unit: number): number => unit << 10;
    // Children of the root stand at 256 ^ byte, those of the first byte of é at 512 ^ byte.
    units[0] = offset(256);
    units[256 ^ 0x41] = (offset(256 ^ 0x41 ^ 768) | leaf | 0x41) >>> 0;
    units[768] = (0x80000000 | 0) >>> 0;
    units[256 ^ 0xc3] = (offset(256 ^ 0xc3 ^ 512) | 0xc3) >>> 0;
    units[512 ^ 0xa9] = (offset(512 ^ 0xa9 ^ 800) | leaf | 0xa9) >>> 0;
    units[800] = (0x80000000 | 3) >>> 0;
    const texts = Buffer.from('aa\0E\0');
    const size = Buffer.alloc(4);
    size.writeUInt32LE(units.byteLength);
    return Buffer.concat([size, Buffer.from(units.buffer), texts]).toString('base64');
  };
  const pieces = ['<unk>', 'a', 'b', 'E', '\u0301', 'A', 'é', '中'];
  const tokenizer = openTokenizer({
    tokenizerJson: {
      normalizer: { type: 'Precompiled', precompiled_charsmap: charsmap() },
      pre_tokenizer: null,
      post_processor: null,
      decoder: null,
      added_tokens: [],
      model: { type: 'Unigram', unk_id: 0, vocab: pieces.map((piece, at) => [piece, -at]) },
    },
  });
  const encoded = (text: string): string =>
    tokenizer
      .encode(text)
      .map((id) => pieces[id])
      .join('');

  it('replaces what its trie has, clusters below six bytes as wholes', () => {
    expect(encoded('AbA')).toBe('aabaa');
    expect(encoded('é中')).toBe('E中');
    // A combining mark goes with its letter.
    expect(encoded('A\u0301b')).toBe('aab');
    expect(encoded('b\u0301')).toBe('b\u0301');
  });
  it('takes time in proportion to the text', () => {
    expect(encoded('e\u0301中あ'.repeat(50_000)).length).toBeGreaterThan(50_000);
  });
});
