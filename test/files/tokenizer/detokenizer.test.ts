import { describe, expect, it } from 'vitest';
import { createDetokenizer } from '../../../src/files/tokenizer/detokenizer.ts';
import { openTokenizer, type Tokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { byteFallback, byteLevel, metaspace } from './small-tokenizers.ts';

const families: [string, Tokenizer][] = [
  ['byte-level', openTokenizer(byteLevel())],
  ['byte-fallback', openTokenizer(byteFallback())],
  ['metaspace', openTokenizer(metaspace())],
];

/** Numbers in [0, 1), the same in every run. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function streamed(tokenizer: Tokenizer, ids: number[], skipSpecialTokens: boolean): string[] {
  const stream = createDetokenizer(tokenizer, { skipSpecialTokens });
  return [...ids.map((id) => stream.push(id)), stream.flush()];
}

describe.each(families)('the detokenizer of %s', (_, tokenizer) => {
  it('streams random ids to the text of the whole', () => {
    const random = randoms(7);
    for (let round = 0; round < 500; round++) {
      const ids = Array.from({ length: 1 + Math.floor(random() * 20) }, () =>
        Math.floor(random() * tokenizer.vocabSize),
      );
      for (const skip of [true, false]) {
        expect(streamed(tokenizer, ids, skip).join('')).toBe(
          tokenizer.decode(ids, { skipSpecialTokens: skip }),
        );
      }
    }
  });

  it('never shows part of a character', () => {
    const text = 'hi 中文 😀👍🏽 👩‍👩‍👧 e\u0301é \ufeff';
    const parts = streamed(tokenizer, tokenizer.encode(text, { addSpecialTokens: false }), true);
    for (const part of parts) {
      expect(part).not.toMatch(/\ufffd|\p{Surrogate}/u);
    }
    const hasAllBytes = tokenizer.vocabSize > 256;
    if (hasAllBytes) expect(parts.join('')).toBe(text);
  });
});

describe('bytes of a detokenizer', () => {
  const [, tokenizer] = families[0] ?? [];
  if (tokenizer === undefined) throw new Error('no tokenizer');
  const bytesOf = (text: string) => [...new TextEncoder().encode(text)];

  it('are held until their character is whole', () => {
    expect(streamed(tokenizer, bytesOf('a😀b'), true)).toEqual(['a', '', '', '', '😀', 'b', '']);
  });

  it('of random garbage come out as TextDecoder has them', () => {
    const random = randoms(3);
    for (let round = 0; round < 300; round++) {
      const bytes = Array.from({ length: 12 }, () =>
        random() < 0.7 ? 0x80 + Math.floor(random() * 128) : 0x41,
      );
      const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array(bytes));
      expect(streamed(tokenizer, bytes, true).join('')).toBe(whole);
    }
  });

  it('that never complete are U+FFFD at the flush, and the next text starts clean', () => {
    const stream = createDetokenizer(tokenizer, {});
    expect(stream.push(0xe4)).toBe('');
    expect(stream.flush()).toBe('\ufffd');
    expect(stream.push(0xb8)).toBe('\ufffd');
    expect(stream.push(0x41)).toBe('A');
  });

  it('before a special token are given up, not joined over it', () => {
    expect(streamed(tokenizer, [0xe4, 263, 0xb8], false).join('')).toBe('\ufffd<tool é>\ufffd');
  });
});

describe('the leading space of a detokenizer', () => {
  const [, tokenizer] = families[1] ?? [];
  if (tokenizer === undefined) throw new Error('no tokenizer');
  const id = (piece: string) => tokenizer.tokenToId(piece) ?? -1;

  it('is cut once, from whatever brings the first text', () => {
    expect(streamed(tokenizer, [1, id('▁▁'), id('▁hi')], true)).toEqual(['', ' ', ' hi', '']);
    expect(streamed(tokenizer, [id('hi'), id('▁hi')], true)).toEqual(['hi', ' hi', '']);
    expect(streamed(tokenizer, [3 + 0x20, id('▁hi')], true)).toEqual(['', ' hi', '']);
    expect(streamed(tokenizer, [1, id('▁hi')], false)).toEqual(['<s>', ' hi', '']);
  });

  it('is cut again after a flush', () => {
    const stream = createDetokenizer(tokenizer);
    expect([stream.push(id('▁hi')), stream.flush(), stream.push(id('▁hi'))]).toEqual(['hi', '', 'hi']);
  });
});

describe.each(families)('the detokenizer of %s behind another text', (name, tokenizer) => {
  it('is what decoding both leaves behind the first', () => {
    const random = randoms(11);
    const some = (most: number) =>
      Array.from({ length: Math.floor(random() * most) }, () => Math.floor(random() * tokenizer.vocabSize));
    for (let round = 0; round < 500; round++) {
      const [after, ids] = [some(8), some(12)];
      for (const skipSpecialTokens of [true, false]) {
        const before = tokenizer.decode(after, { skipSpecialTokens });
        // An incomplete character at the end belongs to the next text.
        if (before.endsWith('\ufffd')) continue;
        const stream = createDetokenizer(tokenizer, { skipSpecialTokens, after });
        const text = ids.map((id) => stream.push(id)).join('') + stream.flush();
        expect(before + text).toBe(tokenizer.decode([...after, ...ids], { skipSpecialTokens }));
      }
    }
  });

  it('completes the character that the text before ends within', () => {
    if (name === 'metaspace') return;
    const at = name === 'byte-level' ? 0 : 3;
    const stream = createDetokenizer(tokenizer, { after: [0x41, 0xf0, 0x9f].map((byte) => byte + at) });
    expect([0x98, 0x80, 0x42].map((byte) => stream.push(byte + at))).toEqual(['', '😀', 'B']);
  });
});
