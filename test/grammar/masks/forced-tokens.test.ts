// Forced text together with everything else that affects tokens: processors apply to it, and it is the same text in the same tokens
// whether or not each token has a forward pass.

import { describe, expect, it } from 'vitest';
import { compileSource } from '../../../src/engine/text/threads/grammar-source.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { createVocabulary } from '../../../src/grammar/masks/vocabulary.ts';
import { allowedTokens, withProcessors } from '../../../src/engine/text/request/processors.ts';
import type { LogitProcessor } from '../../../src/engine/text/calls/text-model.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import { maskWords } from '../../../src/kernels/logits-mask.ts';
import { byteLevel } from '../../files/tokenizer/small-tokenizers.ts';
import { generated, paperSequence } from '../../engine/text/paper-sequence.ts';

const tokenizer = openTokenizer(byteLevel());
const END = 261;
const HI = 257;
const SIZE = 264;
const vocabulary = createVocabulary(tokenizer, SIZE, [END]);

interface Asked {
  processors?: LogitProcessor[];
  logprobs?: number | null;
  processor?: string | null;
}

/**
 * Returns the tokens of a text that always takes the lowest allowed id, and how many of them were sampled; `left`: it could not
 * continue.
 */
function say(pattern: string, { processors = [], logprobs = null, processor = null }: Asked = {}) {
  const program = compileSource({ type: 'regex', pattern }, vocabulary.available);
  const grammar = new Grammar(program, vocabulary).start();
  const sequence = paperSequence([1], 100, {
    stopIds: [END],
    constraint: withProcessors(processors, { vocabulary, prompt: [1] })(grammar),
    logprobs,
    request: { allowed: allowedTokens(processors, SIZE), processor },
  });
  const mask = new Uint32Array(maskWords(SIZE));
  let drawn = 0;
  for (sequence.acceptForced(); !sequence.finished; sequence.acceptForced()) {
    sequence.writeMask(mask);
    const id = mask.findIndex((word) => word !== 0);
    if (id < 0) return { ids: generated(sequence), drawn, left: true };
    sequence.acceptToken(32 * id + 31 - Math.clz32(mask[id]! & -mask[id]!));
    drawn++;
  }
  return { ids: generated(sequence), drawn, left: false };
}

const bytes = (text: string): number[] => [...new TextEncoder().encode(text)];
const without = (...tokens: number[]): LogitProcessor => ({ name: 'disallowed_tokens', tokens });

describe('a forced run', () => {
  it('is appended in the tokens of the tokenizer', () => {
    expect(say('x hi')).toEqual({ ids: [...bytes('x'), HI + 1, END], drawn: 0, left: false });
  });

  it('is spelled otherwise where a processor excludes a token of it', () => {
    expect(say('ahi', { processors: [without(HI)] }).ids).toEqual([...bytes('ahi'), END]);
    const allowed: LogitProcessor = { name: 'allowed_tokens', tokens: [...bytes('ahi'), END] };
    expect(say('ahi', { processors: [allowed] }).ids).toEqual([...bytes('ahi'), END]);
  });

  it('stops where processors leave no spelling of it', () => {
    expect(say('ahi', { processors: [without(HI, ...bytes('i'))] })).toMatchObject({
      ids: bytes('ah'),
      left: true,
    });
    const once: LogitProcessor = { name: 'no_repeat_ngram', size: 1 };
    expect(say('abab', { processors: [once] })).toMatchObject({ ids: bytes('ab'), left: true });
    expect(say('abc', { processors: [once] })).toMatchObject({ ids: [...bytes('abc'), END], left: false });
  });

  it('is not begun where it would come to a bad word, and another text may be had', () => {
    const processors: LogitProcessor[] = [{ name: 'bad_words', words: ['hill'] }];
    for (const logprobs of [null, 0]) {
      expect(say('a(hill|top)', { processors, logprobs }).ids).toEqual([...bytes('atop'), END]);
      expect(say('a(hill|hint)s', { processors, logprobs }).ids.at(-1)).toBe(END);
      expect(say('a hill', { processors, logprobs }).left).toBe(true);
    }
  });

  it('ends without an end token where none is allowed', () => {
    const processors: LogitProcessor[] = [{ name: 'allowed_tokens', tokens: bytes('abc') }];
    expect(say('abc', { processors })).toMatchObject({ ids: bytes('abc'), left: false });
    expect(say('abc', { processors, logprobs: 0 })).toMatchObject({ ids: bytes('abc'), left: false });
  });

  it('leaves the choice of tokens to a function on logits', () => {
    expect(say('ahi', { processor: 'a function' })).toEqual({
      ids: [...bytes('ahi'), END],
      drawn: 4,
      left: false,
    });
  });
});

it.each([
  ['x hi there', []],
  ['hi[a-c]{3} hi', []],
  ['(hi|ho)hi', []],
  ['a hihi', [without(HI)]],
  ['hihi', [{ name: 'no_repeat_ngram', size: 1 } as const]],
])('a forced run of %s equals one with a pass for each token', (pattern, processors: LogitProcessor[]) => {
  const free = say(pattern, { processors });
  const each = say(pattern, { processors, logprobs: 0 });
  expect(each.ids).toEqual(free.ids);
  expect(each.left).toBe(free.left);
  expect(each.drawn).toBe(each.ids.length);
  expect(free.drawn).toBeLessThan(each.drawn);
});
