// The classes of gpt-config.ts: names of settings and modules, positions, and settings of a class alone.

import { readFalcon } from './falcon-config.ts';
import type { GptFamily } from './gpt-family.ts';

const SHORT_KEYS = {
  hidden_size: 'n_embd',
  num_hidden_layers: 'n_layer',
  num_attention_heads: 'n_head',
  max_position_embeddings: 'n_positions',
  intermediate_size: 'n_inner',
  layer_norm_eps: 'layer_norm_epsilon',
  hidden_act: 'activation_function',
};
const TRANSFORMER = { prefix: 'transformer.', embedding: 'wte', layers: 'h', finalNorm: 'ln_f' };
/** Checkpoints of older versions keep the mask of attention. */
const MASKS = /\.attn\.(masked_)?bias$/;

const GPT2: GptFamily = {
  modelType: 'gpt2',
  examples: 'GPT-2, DistilGPT2, DialoGPT',
  keys: SHORT_KEYS,
  context: 1024,
  tied: true,
  activation: 'gelu_new',
  only: {
    scale_attn_weights: [true],
    scale_attn_by_inverse_layer_idx: [false],
    add_cross_attention: [false],
  },
  read: (_, { context }) => ({
    names: TRANSFORMER,
    positions: { name: 'wpe', rows: context, first: 0 },
    modules: {
      attentionNorm: 'ln_1',
      attention: 'attn',
      mlpNorm: 'ln_2',
      up: 'mlp.c_fc',
      down: 'mlp.c_proj',
    },
    attentionNames: { qkv: 'c_attn', out: 'c_proj' },
    order: 'kinds',
    qkvBias: true,
    outBias: true,
    mlpBias: true,
    ignored: MASKS,
  }),
};

const MPT: GptFamily = {
  modelType: 'mpt',
  examples: 'MPT 7B and 30B',
  needsNoCode: true,
  keys: {
    hidden_size: 'd_model',
    num_hidden_layers: 'n_layers',
    num_attention_heads: 'n_heads',
    max_position_embeddings: 'max_seq_len',
    layer_norm_eps: 'layer_norm_epsilon',
  },
  context: 2048,
  tied: true,
  activation: 'gelu',
  only: {
    expansion_ratio: [4],
    no_bias: [true],
    logit_scale: [null],
    norm_type: ['low_precision_layernorm', 'layernorm'],
  },
  read(config) {
    const attention = config.part('attn_config');
    attention.only({
      alibi: [true],
      attn_type: ['multihead_attention'],
      attn_uses_sequence_id: [false],
      clip_qkv: [null],
      prefix_lm: [false],
      qk_ln: [false],
      softmax_scale: [null],
    });
    return {
      norm: 'layer-weight',
      names: { ...TRANSFORMER, layers: 'blocks', finalNorm: 'norm_f' },
      modules: {
        attentionNorm: 'norm_1',
        attention: 'attn',
        mlpNorm: 'norm_2',
        up: 'ffn.up_proj',
        down: 'ffn.down_proj',
      },
      attentionNames: { qkv: 'Wqkv', out: 'out_proj' },
      order: 'kinds',
      alibi: { most: attention.count('alibi_bias_max', 8), scale: 1 },
      qkvBias: false,
      outBias: false,
      mlpBias: false,
    };
  },
};

export const FAMILIES: ReadonlyMap<string, GptFamily> = new Map<string, GptFamily>([
  ['GPT2LMHeadModel', GPT2],
  [
    'GPTBigCodeForCausalLM',
    {
      ...GPT2,
      modelType: 'gpt_bigcode',
      examples: 'StarCoder, SantaCoder',
      activation: 'gelu_pytorch_tanh',
      only: { scale_attn_weights: [true], add_cross_attention: [false] },
      read(config, sizes) {
        const isShared = config.flag('multi_query', true);
        const own = GPT2.read(config, sizes);
        return isShared ? { ...own, kvHeads: 1 } : { ...own, order: 'groups' };
      },
    },
  ],
  [
    'GPTJForCausalLM',
    {
      modelType: 'gptj',
      examples: 'GPT-J 6B, GPT4All-J',
      // Of a head's dimensions the file states the rotated ones only.
      keys: { ...SHORT_KEYS, head_dim: 'rotary_dim' },
      context: 2048,
      tied: false,
      activation: 'gelu_new',
      only: { tie_word_embeddings: [false] },
      read: (config, { dims }) => ({
        names: TRANSFORMER,
        modules: {
          attentionNorm: 'ln_1',
          attention: 'attn',
          mlpNorm: null,
          up: 'mlp.fc_in',
          down: 'mlp.fc_out',
        },
        attentionNames: { out: 'out_proj' },
        rotation: { share: config.count('head_dim', 64) / dims, pairs: 'adjacent' },
        qkvBias: false,
        outBias: false,
        mlpBias: true,
        headBias: true,
        parallel: true,
        ignored: /\.attn\.((masked_)?bias|embed_positions)$/,
      }),
    },
  ],
  [
    'OPTForCausalLM',
    {
      modelType: 'opt',
      examples: 'OPT 125M to 66B, Galactica',
      keys: { intermediate_size: 'ffn_dim', hidden_act: 'activation_function' },
      context: 2048,
      tied: true,
      activation: 'relu',
      only: {
        do_layer_norm_before: [true],
        _remove_final_layer_norm: [false],
        layer_norm_elementwise_affine: [true],
      },
      read(config, { hidden, context }) {
        config.only({ word_embed_proj_dim: [hidden] });
        const bias = config.flag('enable_bias', true);
        return {
          names: { prefix: 'model.decoder.', finalNorm: 'final_layer_norm' },
          // Rows before that of the first token are for padding.
          positions: { name: 'embed_positions', rows: context + 2, first: 2 },
          modules: {
            attentionNorm: 'self_attn_layer_norm',
            attention: 'self_attn',
            mlpNorm: 'final_layer_norm',
            up: 'fc1',
            down: 'fc2',
          },
          attentionNames: { out: 'out_proj' },
          qkvBias: bias,
          outBias: bias,
          mlpBias: bias,
        };
      },
    },
  ],
  [
    'BloomForCausalLM',
    {
      modelType: 'bloom',
      examples: 'BLOOM, BLOOMZ',
      keys: {
        hidden_size: 'n_embed',
        num_hidden_layers: 'n_layer',
        num_attention_heads: 'n_head',
        max_position_embeddings: 'seq_length',
        layer_norm_eps: 'layer_norm_epsilon',
      },
      context: 2048,
      tied: true,
      activation: 'gelu_pytorch_tanh',
      only: { apply_residual_connection_post_layernorm: [false] },
      read: () => ({
        names: { ...TRANSFORMER, embedding: 'word_embeddings' },
        embeddingNorm: 'word_embeddings_layernorm',
        modules: { attention: 'self_attention', up: 'mlp.dense_h_to_4h', down: 'mlp.dense_4h_to_h' },
        attentionNames: { qkv: 'query_key_value', out: 'dense' },
        order: 'groups',
        alibi: { most: 8, scale: 1 },
        qkvBias: true,
        outBias: true,
        mlpBias: true,
      }),
    },
  ],
  // As its repositories call it, and as transformers does.
  ['MPTForCausalLM', MPT],
  ['MptForCausalLM', MPT],
  [
    'FalconForCausalLM',
    {
      modelType: 'falcon',
      examples: 'Falcon 7B, 40B and RW',
      needsNoCode: true,
      keys: {
        intermediate_size: 'ffn_hidden_size',
        num_key_value_heads: 'num_kv_heads',
        layer_norm_eps: 'layer_norm_epsilon',
        hidden_act: 'activation',
      },
      context: 2048,
      tied: true,
      activation: 'gelu',
      only: {},
      read: readFalcon,
    },
  ],
]);
