// config.json files of Gemma 4, in the published form and as transformers 5 saves them, and refusals of parts that are not built.

import { expect, it } from 'vitest';
import { readGemma4Config } from '../../../../src/models/text/gemma4/gemma4-config.ts';
import { inverseFrequencies } from '../../../../src/models/text/blocks/rope.ts';

const LAYER_TYPES = ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'];
const DENSE = {
  hidden_size: 64,
  num_hidden_layers: 4,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  head_dim: 16,
  layer_types: LAYER_TYPES,
  hidden_size_per_layer_input: 0,
};
const PUBLISHED = { global_head_dim: 32, num_global_key_value_heads: 2, attention_k_eq_v: true };

const read = (changes: object) => readGemma4Config({ ...DENSE, ...changes }, 'Gemma4ForCausalLM');

it('full layers have heads of their own, in both spellings', () => {
  const full = { head_dim: 32, num_key_value_heads: 2 };
  const saved = { attention_k_eq_v: true, per_layer_config: { 1: full, 3: full } };
  for (const changes of [PUBLISHED, saved]) {
    const { heads, layers } = read(changes);
    expect(heads).toEqual({ heads: 8, kvHeads: 4, dims: 16, scale: 1 });
    const own = { heads: 8, kvHeads: 2, dims: 32, scale: 1, kv: 'one' };
    expect(layers.map((layer) => layer.heads)).toEqual([heads, own, heads, own]);
    expect(layers.map(({ window }) => window)).toEqual([512, null, 512, null]);
  }
});

it('key heads of full layers count only where keys are the values', () => {
  const { layers } = read({ ...PUBLISHED, attention_k_eq_v: false });
  expect(layers[1]!.heads).toEqual({ heads: 8, kvHeads: 4, dims: 32, scale: 1 });
});

it('the last layer sees all tokens, and one of six where types are missing', () => {
  const { layers } = read({ ...PUBLISHED, layer_types: null, num_hidden_layers: 8 });
  expect(layers.flatMap(({ window }, i) => (window === null ? [i] : []))).toEqual([5, 7]);
});

it("a quarter of the full layers' dimensions turn by frequencies of the whole head", () => {
  const [full, windowed] = read(PUBLISHED).ropes;
  const frequencies = [...inverseFrequencies(full!, 1)];
  expect(frequencies.map((one) => one !== 0)).toEqual(Array.from({ length: 16 }, (_, i) => i < 4));
  expect(frequencies[3]).toBeCloseTo(1e6 ** (-6 / 32), 12);
  expect([...inverseFrequencies(windowed!, 1)][7]).toBeCloseTo(10000 ** (-14 / 16), 12);
});

it('layers behind the first shared one read the last of their kind before it', () => {
  const { layers, sharedFfn, ffn } = read({
    ...PUBLISHED,
    num_kv_shared_layers: 2,
    use_double_wide_mlp: true,
  });
  expect(layers.map(({ shares }) => shares)).toEqual([undefined, undefined, 0, 1]);
  expect(layers.map((layer) => layer.heads!.kv)).toEqual([undefined, 'one', 'none', 'none']);
  expect(sharedFfn).toBe(2 * ffn);
  expect(() => read({ ...PUBLISHED, num_kv_shared_layers: 3 })).toThrow(
    'num_kv_shared_layers leaves no layer',
  );
});

it('embeddings enter the layers unless none are stated', () => {
  expect(read({ hidden_size_per_layer_input: undefined }).entering).toEqual({
    vocabulary: 262144,
    columns: 256,
    padding: 0,
  });
  expect(read({}).entering).toBeNull();
  expect(() => read({ hidden_size_per_layer_input: 6 })).toThrow(
    'hidden_size_per_layer_input 6 is not built',
  );
});

it('the text of the 12B has no embeddings that enter layers, and sees images in all layers', () => {
  const { hidden_size_per_layer_input: _none, ...stated } = { ...DENSE, ...PUBLISHED };
  const { entering, spansEverywhere, layers } = readGemma4Config(stated, 'Gemma4UnifiedForCausalLM');
  expect([entering, spansEverywhere, layers[0]!.window]).toEqual([null, true, 1024]);
  expect(read(PUBLISHED).spansEverywhere).toBe(false);
});

it('experts stand beside the feed-forward block where the configuration says so', () => {
  const stated = { enable_moe_block: true, num_experts: 128, top_k_experts: 8, moe_intermediate_size: 704 };
  const { experts } = read(stated);
  expect(experts).toMatchObject({
    count: 128,
    chosen: 8,
    ffn: 704,
    normed: true,
    logitScale: 1 / 8,
    shared: null,
  });
  expect(experts!.layers).toEqual([true, true, true, true]);
  expect(read({}).experts).toBeNull();
  expect(() => read({ ...stated, top_k_experts: 129 })).toThrow(
    'is 129, more than the 128 experts there are',
  );
});

it.each([
  [{ use_bidirectional_attention: 'all' }, /use_bidirectional_attention "all" is not built/],
  [{ per_layer_config: { 1: { head_dim: 32 }, 3: { head_dim: 64 } } }, /per_layer_config/],
  [{ per_layer_config: { 0: { head_dim: 32 } } }, /per_layer_config/],
])('a configuration of Gemma 4 with %j is refused', (changes, message) => {
  expect(() => read({ ...PUBLISHED, ...changes })).toThrow(
    expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(message) }) as Error,
  );
});
