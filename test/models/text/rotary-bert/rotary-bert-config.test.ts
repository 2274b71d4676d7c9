import { describe, expect, it } from 'vitest';
import { readRotaryBertConfig } from '../../../../src/models/text/rotary-bert/rotary-bert-config.ts';

const SIZES = { vocab_size: 100, hidden_size: 64, num_attention_heads: 4, intermediate_size: 96 };
const NOMIC = { vocab_size: 100, n_embd: 64, n_head: 4, n_inner: 96, n_layer: 2, n_positions: 8192 };

it('GTE scales all frequencies as its own code does', () => {
  const scaling = { rope_theta: 500, rope_scaling: { type: 'ntk', factor: 8 } };
  const { rope, context } = readRotaryBertConfig({ ...SIZES, ...scaling }, 'NewModel');
  expect(rope).toMatchObject({ type: 'linear', theta: 4000, factor: 8 ** (2 / 16) });
  expect(context).toBe(8192);
  const mixed = { ...scaling, rope_scaling: { ...scaling.rope_scaling, mixed_b: 0.6 } };
  expect(() => readRotaryBertConfig({ ...SIZES, ...mixed }, 'NewModel')).toThrow(/mixed_b 0\.6 is not built/);
});

it('NomicBERT is for the positions that it was trained for, and with a factor for all that it states', () => {
  const stated = { ...NOMIC, max_trained_positions: 2048, activation_function: 'swiglu' };
  expect(readRotaryBertConfig(stated, 'NomicBertModel')).toMatchObject({
    context: 2048,
    rope: { theta: 1000 },
  });
  const scaled = readRotaryBertConfig({ ...stated, rotary_scaling_factor: 2 }, 'NomicBertModel');
  expect(scaled).toMatchObject({
    context: 8192,
    rope: { type: 'dynamic', factor: 2, originalContext: 2048 },
  });
});

const MIXTURE = { activation_function: 'gelu', num_experts: 8, moe_top_k: 2, moe_every_n_layers: 2 };

it('NomicBERT has experts in the second of every few layers', () => {
  const { experts } = readRotaryBertConfig({ ...NOMIC, ...MIXTURE, n_layer: 4 }, 'NomicBertModel');
  expect(experts).toMatchObject({ count: 8, chosen: 2, ffn: 96, normed: false, ungated: 'gelu' });
  expect(experts?.layers).toEqual([false, true, false, true]);
  expect(readRotaryBertConfig({ ...NOMIC, num_experts: 0 }, 'NomicBertModel').experts).toBeNull();
});

it.each([
  [{ ...MIXTURE, activation_function: 'swiglu' }, /activation_function "swiglu" is not built/],
  [{ ...MIXTURE, moe_normalize_expert_weights: true }, /moe_normalize_expert_weights true is not built/],
  [{ ...MIXTURE, num_shared_experts: 1 }, /num_shared_experts 1 is not built/],
  [{ prenorm: true }, /prenorm true is not built/],
  [{ activation_function: 'relu' }, /activation_function "relu" is not built/],
])('NomicBERT with %j is refused', (more, message) =>
  expect(() => readRotaryBertConfig({ ...NOMIC, ...more }, 'NomicBertModel')).toThrow(message),
);

describe('XLM-RoBERTa with fused projections, as Jina publishes it', () => {
  /** jina-embeddings-v3. */
  const EMBEDDER = {
    architectures: ['XLMRobertaModel'],
    hidden_act: 'gelu',
    hidden_size: 1024,
    intermediate_size: 4096,
    layer_norm_eps: 1e-5,
    load_trained_adapters: true,
    lora_adaptations: [
      'retrieval.query',
      'retrieval.passage',
      'separation',
      'classification',
      'text-matching',
    ],
    lora_alpha: 1,
    lora_dropout_p: 0,
    lora_rank: 4,
    max_position_embeddings: 8194,
    model_type: 'xlm-roberta',
    num_attention_heads: 16,
    num_hidden_layers: 24,
    pad_token_id: 1,
    position_embedding_type: 'rotary',
    rotary_emb_base: 20_000,
    task_instructions: { 'retrieval.query': 'Represent the query for retrieving evidence documents: ' },
    type_vocab_size: 1,
    use_flash_attn: true,
    vocab_size: 250_002,
  };

  it('rotates heads, and has LoRAs of tasks', () => {
    const config = readRotaryBertConfig(EMBEDDER, 'XLMRobertaFlashModel');
    expect(config).toMatchObject({ context: 8194, gated: false, upBias: true, learned: null, outputs: null });
    expect(config.rope).toMatchObject({ dims: 64 });
    expect(config.tasks).toMatchObject({ rank: 4, scale: 0.25, names: EMBEDDER.lora_adaptations });
  });

  it('has learned positions behind those of padding', () => {
    const { rotary_emb_base: _, lora_adaptations: __, ...rest } = EMBEDDER;
    const reranker = { ...rest, max_position_embeddings: 1026, position_embedding_type: 'absolute' };
    const config = readRotaryBertConfig(
      { ...reranker, id2label: { '0': 'LABEL_0' } },
      'XLMRobertaFlashForSequenceClassification',
    );
    expect(config).toMatchObject({
      rope: null,
      learned: { count: 1026, first: 2 },
      context: 1024,
      tasks: null,
    });
  });

  it.each([
    [{ lora_adaptations: [] }, /lora_adaptations is \[\], up to 64 names of tasks are needed/],
    [{ lora_alpha: 'one' }, /lora_alpha is "one", a number is needed/],
    [{ max_position_embeddings: 2, position_embedding_type: 'absolute' }, /are for padding/],
    [{ rotary_emb_interleaved: true }, /rotary_emb_interleaved/],
  ])('%j is refused', (changes, message) => {
    expect(() => readRotaryBertConfig({ ...EMBEDDER, ...changes }, 'XLMRobertaFlashModel')).toThrow(message);
  });
});
