// Processors by the tokens that they allow, compared with a plain search of the text.

import { describe, expect, it } from 'vitest';
import type { Constraint } from '../../../../src/engine/text/calls/constraint.ts';
import { createVocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import {
  allowedTokens,
  withProcessors,
  withThinkingBudget,
} from '../../../../src/engine/text/request/processors.ts';
import type { LogitProcessor } from '../../../../src/engine/text/calls/text-model.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';
import { randomInteger } from '../../random.ts';

const tokenizer = openTokenizer(byteLevel());
const VOCABULARY = 300;
const vocabulary = createVocabulary(tokenizer, VOCABULARY, [261]);

function bitsOf(words: Uint32Array | null): number[] {
  return Array.from({ length: VOCABULARY }, (_, id) => id).filter(
    (id) => words === null || (words[id >> 5]! >>> (id & 31)) & 1,
  );
}

function bannedBy(constraint: Constraint): number[] {
  const words = new Uint32Array(Math.ceil(VOCABULARY / 32));
  constraint.mask(words);
  const allowed = new Set(bitsOf(words));
  return Array.from({ length: VOCABULARY }, (_, id) => id).filter((id) => !allowed.has(id));
}

function start(
  processors: LogitProcessor[],
  prompt: number[] = [],
  base: Constraint | null = null,
): Constraint {
  return withProcessors(processors, { vocabulary, prompt })(base)!;
}

describe('allowed and disallowed tokens', () => {
  it('are what all of them leave', () => {
    expect(allowedTokens([], VOCABULARY)).toBeNull();
    expect(allowedTokens([{ name: 'no_repeat_ngram', size: 2 }], VOCABULARY)).toBeNull();
    const allowed: LogitProcessor = { name: 'allowed_tokens', tokens: [0, 31, 32, 299] };
    const without: LogitProcessor = { name: 'disallowed_tokens', tokens: [31, 5] };
    expect(bitsOf(allowedTokens([allowed], VOCABULARY))).toEqual([0, 31, 32, 299]);
    expect(bitsOf(allowedTokens([without], VOCABULARY))).toHaveLength(VOCABULARY - 2);
    for (const order of [
      [allowed, without],
      [without, allowed],
    ])
      expect(bitsOf(allowedTokens(order, VOCABULARY))).toEqual([0, 32, 299]);
  });

  it('need no look at what was said', () => {
    const processors: LogitProcessor[] = [{ name: 'allowed_tokens', tokens: [1] }];
    expect(withProcessors(processors, { vocabulary, prompt: [] })(null)).toBeNull();
  });
});

describe('the no_repeat_ngram processor', () => {
  it.each([
    [1, undefined],
    [2, undefined],
    [3, undefined],
    [2, 6],
    [3, 9],
  ])('leaves out runs of %i tokens, within %s', (size, window) => {
    const random = randomInteger(size);
    const prompt = Array.from({ length: 12 }, () => random(4));
    const constraint = start([{ name: 'no_repeat_ngram', size, ...(window ? { window } : {}) }], prompt);
    const said = [...prompt];
    for (let step = 0; step < 60; step++) {
      const near = said.slice(-(window ?? Infinity));
      const begin = said.slice(said.length - size + 1);
      const wanted = new Set<number>();
      for (let at = 0; at + size <= near.length; at++)
        if (size === 1 || near.slice(at, at + size - 1).join() === begin.join())
          wanted.add(near[at + size - 1]!);
      expect(bannedBy(constraint), said.join()).toEqual([...wanted].sort((a, b) => a - b));
      const next = random(4);
      constraint.accept(next);
      said.push(next);
    }
  });
});

it('choices share what is computed of a long prompt', () => {
  const random = randomInteger(5);
  const prompt = Array.from({ length: 20_000 }, () => random(VOCABULARY - 1));
  const begin = withProcessors([{ name: 'no_repeat_ngram', size: 1000 }], { vocabulary, prompt });
  const started = process.cpuUsage();
  const choices = Array.from({ length: 128 }, () => begin(null)!);
  const [first, second] = choices as [Constraint, Constraint];
  for (const id of prompt.slice(0, 999)) first.accept(id);
  expect(bannedBy(first)).toEqual([prompt[999]]);
  expect(bannedBy(second)).toEqual([]);
  const fork = first.fork();
  fork.accept(prompt[999]! + 1);
  expect([bannedBy(fork), bannedBy(first)]).toEqual([[], [prompt[999]]]);
  expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
});

it('a processor cuts what a grammar leaves, and a fork has a state of its own', () => {
  const taken: number[] = [];
  const grammar: Constraint = {
    mask: (into) => (into.fill(0), (into[0] = 0b1111), true),
    accept: (id) => void taken.push(id),
    forced: () => [7],
    ended: false,
    fork: () => grammar,
  };
  const constraint = start([{ name: 'no_repeat_ngram', size: 1 }], [], grammar);
  constraint.accept(2);
  const fork = constraint.fork();
  fork.accept(3);
  expect([taken, constraint.forced(), constraint.ended]).toEqual([[2, 3], [7], false]);
  expect(bannedBy(constraint).slice(0, 2)).toEqual([2, 4]);
  expect(bannedBy(fork).slice(0, 3)).toEqual([2, 3, 4]);
});

it('a thinking budget is the least of those asked for', () => {
  const prompt = { text: '' };
  expect(withThinkingBudget({ prompt })).toEqual({ prompt });
  const processors: LogitProcessor[] = [
    { name: 'thinking_budget', tokens: 9 },
    { name: 'thinking_budget', tokens: 5 },
  ];
  expect(withThinkingBudget({ prompt, processors }).reasoning).toEqual({ budget: 5 });
  const reasoning = { budget: 3, separate: false };
  expect(withThinkingBudget({ prompt, processors, reasoning }).reasoning).toEqual(reasoning);
});
