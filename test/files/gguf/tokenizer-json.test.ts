// End tokens that a GGUF file names beyond its vocabulary.

import { describe, expect, it } from 'vitest';
import { GgufKeys } from '../../../src/files/gguf/keys.ts';
import { endTokenProblem, tokenizerFiles } from '../../../src/files/gguf/tokenizer-json.ts';
import type { GgufValue } from '../../../src/files/gguf/values.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

const LLAMA = {
  model: 'llama',
  tokens: ['<unk>', '<s>', '</s>', 'a'],
  token_type: Int32Array.from([2, 3, 3, 1]),
  scores: new Float32Array(4),
};

function keysOf(values: Record<string, GgufValue>): GgufKeys {
  const named = Object.entries(values).map(([key, value]) => [`tokenizer.ggml.${key}`, value] as const);
  return new GgufKeys({ name: 'model.gguf', metadata: new Map(named) });
}

const problemOf = (values: Record<string, GgufValue>): string | null => endTokenProblem(keysOf(values));

describe('the end token of a GGUF file', () => {
  it('within the vocabulary, or not stated, has no note', () => {
    expect(problemOf({ ...LLAMA, eos_token_id: 3 })).toBeNull();
    expect(problemOf(LLAMA)).toBeNull();
  });

  it("beyond the vocabulary is named with what ends a reply in its place, llama.cpp's default", () => {
    expect(problemOf({ ...LLAMA, eos_token_id: 32_000 })).toBe(
      'tokenizer.ggml.eos_token_id is 32000, beyond the vocabulary of 4 tokens, and is not used; replies end with "</s>"',
    );
    expect(problemOf({ ...LLAMA, eos_token_id: 2, eom_token_id: 9 })).toMatch(
      /eom_token_id is 9, .* with "<\/s>"$/,
    );
    const files = tokenizerFiles(keysOf({ ...LLAMA, eos_token_id: 32_000 }));
    expect(openTokenizer(files).eosId).toBe(2);
  });

  it('beyond the vocabulary without another one is named with the remedy', () => {
    expect(problemOf({ model: 'gpt2', eos_token_id: 4, tokens: ['a', 'b', 'c', 'd'] })).toMatch(
      /eos_token_id is 4, .*; no token ends a reply, which runs to its limit: fetch the file of another conversion/,
    );
  });
});
