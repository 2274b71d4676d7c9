// Tokenizers from GGUF metadata against the same tokenizers from tokenizer.json, whose ids test/files/tokenizer compares with the Python
// library's.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { GgufKeys } from '../../../src/files/gguf/keys.ts';
import { preTokenizer, preTokenizerNames } from '../../../src/files/gguf/pre-tokenizers.ts';
import { tokenizerFiles } from '../../../src/files/gguf/tokenizer-json.ts';
import { endIds, readTokens } from '../../../src/files/gguf/vocabulary.ts';
import type { GgufValue } from '../../../src/files/gguf/values.ts';
import { openTokenizer, type Tokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

interface Json {
  model: {
    type: string;
    vocab: Record<string, number> | [string, number][];
    merges?: (string | [string, string])[];
    unk_token?: string;
  };
  added_tokens: { id: number; content: string; special: boolean }[];
  [part: string]: unknown;
}

const { texts, cases } = JSON.parse(
  readFileSync(new URL('../../golden/tokenizers.json', import.meta.url), 'utf8'),
) as { texts: string[]; cases: { name: string; json: Json }[] };

/** A golden tokenizer without the added tokens that GGUF files cannot hold: those found in normalized text. */
function jsonOf(name: string): Json {
  const { json } = cases.find((one) => one.name === name)!;
  return { ...json, added_tokens: json.added_tokens.filter(({ special }) => special) };
}

const keysOf = (metadata: Record<string, GgufValue>): GgufKeys =>
  new GgufKeys({ name: 'model.gguf', metadata: new Map(Object.entries(metadata)) });

const own = (values: Record<string, GgufValue>): Record<string, GgufValue> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`tokenizer.ggml.${key}`, value]));

/** Tokens in the order of their ids with their kinds, as a converter writes them. */
function vocabulary({ model, added_tokens: added }: Json): {
  tokens: string[];
  kinds: Int32Array;
  ids: Record<string, number>;
} {
  const ids = Array.isArray(model.vocab)
    ? Object.fromEntries(model.vocab.map(([token], id) => [token, id]))
    : model.vocab;
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(ids)) tokens[id] = token;
  for (const { id, content } of added) tokens[id] = content;
  const control = new Set(added.map(({ id }) => id));
  const kinds = Int32Array.from(tokens, (token, id) =>
    token === '<unk>' ? 2 : control.has(id) ? 3 : /^<0x..>$/.test(token) ? 6 : 1,
  );
  return { tokens, kinds, ids };
}

const mergesOf = ({ model }: Json): string[] =>
  model.merges!.map((merge) => (typeof merge === 'string' ? merge : merge.join(' ')));

function expectEqual(found: Tokenizer, json: Json, addSpecialTokens: boolean): void {
  const stated = openTokenizer({ tokenizerJson: json });
  for (const text of texts) {
    const ids = stated.encode(text, { addSpecialTokens });
    expect([text, found.encode(text, { addSpecialTokens })]).toEqual([text, ids]);
    // Some of the goldens have no decoder.
    if (json['decoder'] != null) expect([text, found.decode(ids)]).toEqual([text, stated.decode(ids)]);
  }
}

const open = (metadata: Record<string, GgufValue>): Tokenizer =>
  openTokenizer(tokenizerFiles(keysOf(own(metadata))));

describe('a tokenizer from GGUF metadata', () => {
  for (const [name, pre] of [
    ['gpt2', 'gpt-2'],
    ['llama3', 'llama-bpe'],
  ] as const) {
    it(`of byte-level BPE with the pre-tokenizer ${pre} is that of tokenizer.json`, () => {
      const json = jsonOf(name);
      const { tokens, kinds: token_type } = vocabulary(json);
      const found = open({
        model: 'gpt2',
        pre,
        tokens,
        token_type,
        merges: mergesOf(json),
        add_bos_token: false,
      });
      expectEqual(
        found,
        { ...json, model: { ...json.model, ...(pre === 'llama-bpe' && { ignore_merges: true }) } },
        false,
      );
    });
  }

  it('of SentencePiece merges by score, with bytes for what has no token', () => {
    const json = jsonOf('llama2');
    const { tokens, kinds: token_type, ids } = vocabulary(json);
    const scores = new Float32Array(tokens.length);
    mergesOf(json).forEach((merge, rank) => {
      const id = ids[merge.replace(' ', '')]!;
      if (scores[id] === 0) scores[id] = -1 - rank;
    });
    const found = open({ model: 'llama', tokens, token_type, scores, add_eos_token: true });
    expectEqual(found, json, true);
    expect(found.specials).toEqual({ bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' });
  });

  it('of WordPiece has the marks of words that begin for those of words that go on', () => {
    const json = jsonOf('bert');
    const { tokens, kinds: token_type } = vocabulary(json);
    const marked = tokens.map((token, id) =>
      token_type[id] !== 1 ? token : token.startsWith('##') ? token.slice(2) : `▁${token}`,
    );
    const roles = { bos_token_id: 1, seperator_token_id: 2, unknown_token_id: 0 };
    const found = open({ model: 'bert', tokens: marked, token_type, ...roles });
    expectEqual(found, { ...json, model: { ...json.model, unk_token: '<unk>' } }, true);
  });

  it('has no role for a token of text that a file does not give one', () => {
    const tokens = Array.from({ length: 110 }, (_, id) => (id < 3 ? `<${id}>` : `▁w${id}`));
    const token_type = Int32Array.from(tokens, (_, id) => (id < 3 ? 3 : 1));
    const found = open({
      model: 'bert',
      tokens,
      token_type,
      bos_token_id: 0,
      seperator_token_id: 1,
      unknown_token_id: 2,
    });
    expect(found.specials).toEqual({
      bos_token: '<0>',
      sep_token: '<1>',
      unk_token: '<2>',
      pad_token: '<0>',
    });
    expect(found.encode('w103 w5')).toEqual([0, 103, 5, 1]);
    const stated = {
      model: 'bert',
      tokens,
      token_type,
      bos_token_id: 0,
      seperator_token_id: 1,
      unknown_token_id: 2,
    };
    expect(open({ ...stated, padding_token_id: 5 }).specials).not.toHaveProperty('pad_token');
  });

  it('cuts runs of spaces out of a text where they are tokens of their own, and gives them back', () => {
    const tokens = ['<unk>', '<s>', '</s>', 'a', '▁', '▁▁', '▁▁▁', '▁a'];
    const token_type = Int32Array.from([2, 3, 3, 1, 1, 4, 4, 1]);
    const scores = Float32Array.from([0, 0, 0, -1, -2, -1000, -1000, -3]);
    const found = open({ model: 'llama', tokens, token_type, scores, add_space_prefix: false });
    expect(found.encode('a   a  a a')).toEqual([1, 3, 6, 3, 5, 3, 7]);
    expect(found.decode([3, 6, 3, 5, 3, 7])).toBe('a   a  a a');
  });

  it('of a damaged file with a token of a million characters is made all the same', () => {
    const tokens = ['<unk>', '<s>', '</s>', 'a', 'a'.repeat(1_000_000)];
    const token_type = Int32Array.from([2, 3, 3, 1, 1]);
    const found = open({
      model: 'llama',
      tokens,
      token_type,
      scores: new Float32Array(5),
      add_space_prefix: false,
    });
    expect(found.encode('aa')).toEqual([1, 3, 3]);
  });

  it('of Unigram has scores, and spaces in front of words', () => {
    const json = { ...jsonOf('unigram'), normalizer: null };
    const { tokens, kinds: token_type } = vocabulary(json);
    const scores = Float32Array.from(json.model.vocab as [string, number][], ([, score]) => score);
    const model = {
      ...json.model,
      vocab: tokens.map((token, id) => [token, scores[id]!] as [string, number]),
    };
    const found = open({
      model: 't5',
      tokens,
      token_type,
      scores,
      unknown_token_id: 0,
      add_eos_token: false,
    });
    expectEqual(found, { ...json, model }, true);
  });

  it('puts BOS and EOS around a text where the file says so', () => {
    const json = jsonOf('llama3');
    const { tokens, kinds: token_type } = vocabulary(json);
    const base = {
      model: 'gpt2',
      pre: 'llama-bpe',
      tokens,
      token_type,
      merges: mergesOf(json),
      bos_token_id: 1,
      eos_token_id: 2,
    };
    expect(open(base).encode('')).toEqual([1]);
    expect(open({ ...base, pre: 'qwen2' }).encode('')).toEqual([]);
    expect(open({ ...base, pre: 'qwen2', add_bos_token: true, add_eos_token: true }).encode('')).toEqual([
      1, 2,
    ]);
    expect(open({ ...base, add_bos_token: false }).encode('')).toEqual([]);
  });

  it('ends a reply at eos, eot, eom and the control tokens that end a turn', () => {
    const tokens = ['a', '<|im_end|>', '<|eot_id|>', '</s>', '<|end|>', 'x'];
    const token_type = Int32Array.from([1, 3, 3, 3, 1, 3]);
    const keys = keysOf(own({ tokens, token_type, eos_token_id: 5, eot_token_id: 1, eom_token_id: 99 }));
    expect(endIds(keys, readTokens(keys))).toEqual([5, 1, 2, 3]);
    const harmony = keysOf(
      own({ tokens: ['<|return|>', '<|call|>', '<|end|>'], token_type: Int32Array.from([3, 3, 3]) }),
    );
    expect(endIds(harmony, readTokens(harmony))).toEqual([0, 1]);
  });

  it('knows its pre-tokenizers, and every one of them can be built', () => {
    const base = { model: 'gpt2', tokens: ['a', 'b', 'ab'], merges: ['a b'] };
    for (const pre of preTokenizerNames())
      expect([
        pre,
        open({ ...base, pre })
          .encode('ab')
          .at(-1),
      ]).toEqual([pre, 2]);
    expect(preTokenizer('no-such-name')).toBeNull();
  });

  it.each([
    [
      { model: 'rwkv' },
      'unsupported',
      /tokenizer.ggml.model "rwkv" is not built; choose a model that has one of llama, gpt2, bert, t5/,
    ],
    [
      { model: 'gpt2', pre: 'kimi-k2', tokens: ['a'], merges: [] },
      'unsupported',
      /tokenizer.ggml.pre "kimi-k2" is not built; choose a model that has one of .*qwen2/,
    ],
    [{ model: 'gpt2', pre: 'qwen2', tokens: ['a'] }, 'bad_checkpoint', /tokenizer.ggml.merges is missing/],
    [
      { model: 'gpt2', pre: 'qwen2', tokens: ['a'], merges: ['ab'] },
      'bad_checkpoint',
      /merge 0 of tokenizer.ggml.merges is "ab"/,
    ],
    [{ model: 'llama', tokens: [] }, 'bad_checkpoint', /tokenizer.ggml.tokens is a list of 0/],
    [
      { model: 'llama', tokens: ['a', 'b'], scores: new Float32Array(1) },
      'bad_checkpoint',
      /one number for each of 2 tokens/,
    ],
    [
      { model: 'llama', tokens: 5 },
      'bad_checkpoint',
      /tokenizer.ggml.tokens is 5, a list of texts is needed/,
    ],
    [
      { model: 'llama', tokens: ['a', 'a'], bos_token_id: true },
      'bad_checkpoint',
      /bos_token_id is true, a whole number is needed/,
    ],
  ] as const)('is refused by key: %j', (metadata, code, message) => {
    let error: unknown;
    try {
      open(metadata);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(EngineError);
    expect([(error as EngineError).code, (error as EngineError).message]).toEqual([
      code,
      expect.stringMatching(message),
    ]);
    expect((error as EngineError).message).toContain('model.gguf');
  });
});
