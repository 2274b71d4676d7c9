// The encoders of T5 and UMT5 in one file, with the names of transformers or those of llama.cpp. source: llama.cpp's gguf-py, tensor_mapping.py

import type { FileHeaders, NamedRows, PartConfig, PartLayout } from '../../../files/pipeline/file-layout.ts';
import { encoderPrefixes } from './part-layouts.ts';
import { Shapes } from './shapes.ts';

/** The tokenizer's file, which ComfyUI keeps as a tensor. */
const VOCABULARY = 'spiece_model';
const FIRST = 'encoder.block.0';
const BIASES = `${FIRST}.layer.0.SelfAttention.relative_attention_bias.weight`;

/** A tensor of UMT5, whose layers have biases of their own. */
const OWN_BIASES = BIASES.replace('block.0', 'block.1');

/** Layouts of T5 or UMT5 as the text encoder `component`; `original`: ComfyUI's name of it. */
export const t5Layouts = (component: string, original = 't5xxl'): PartLayout[] => [
  {
    prefixes: encoderPrefixes(component, original),
    signs: [BIASES, `${FIRST}.layer.1.DenseReluDense.wi_0.weight`],
    names: () => (name) => (name === VOCABULARY ? [] : name),
    configure: t5Config,
  },
  T5_GGUF,
];

const BLOCK = /^enc\.blk\.(\d+)\.(\w+)\.weight$/;
/** Modules of a block by llama.cpp's names. */
const GGUF_MODULES: Readonly<Record<string, string>> = {
  attn_norm: 'layer.0.layer_norm',
  attn_q: 'layer.0.SelfAttention.q',
  attn_k: 'layer.0.SelfAttention.k',
  attn_v: 'layer.0.SelfAttention.v',
  attn_o: 'layer.0.SelfAttention.o',
  attn_rel_b: 'layer.0.SelfAttention.relative_attention_bias',
  ffn_norm: 'layer.1.layer_norm',
  ffn_gate: 'layer.1.DenseReluDense.wi_0',
  ffn_up: 'layer.1.DenseReluDense.wi_1',
  ffn_down: 'layer.1.DenseReluDense.wo',
};

function ggufName(name: string): string | readonly NamedRows[] {
  if (name === 'token_embd.weight') return 'shared.weight';
  if (name === 'enc.output_norm.weight') return 'encoder.final_layer_norm.weight';
  // Files of a whole T5 have its decoder too.
  if (/^(dec\.|output\.weight$)/.test(name)) return [];
  const [, block, module = ''] = BLOCK.exec(name) ?? [];
  return GGUF_MODULES[module] === undefined ? name : `encoder.block.${block}.${GGUF_MODULES[module]}.weight`;
}

/** Files that llama.cpp converts. */
export const T5_GGUF: PartLayout = {
  prefixes: [''],
  signs: ['enc.blk.0.attn_rel_b.weight', 'enc.blk.0.ffn_gate.weight', 'enc.output_norm.weight'],
  names: () => ggufName,
  configure: t5Config,
};

/** Distance from which on all keys share a class, in every published encoder. */
const FARTHEST = 128;

function t5Config(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'T5 encoder');
  const embedding = headers.has('shared.weight') ? 'shared.weight' : 'encoder.embed_tokens.weight';
  const heads = shapes.extent(BIASES, 1);
  const isUmt5 = headers.has(OWN_BIASES);
  const className = isUmt5 ? 'UMT5EncoderModel' : 'T5EncoderModel';
  return {
    className,
    config: {
      architectures: [className],
      model_type: isUmt5 ? 'umt5' : 't5',
      vocab_size: shapes.extent(embedding, 0),
      d_model: shapes.extent(embedding, 1),
      d_kv: Math.max(1, Math.floor(shapes.extent(`${FIRST}.layer.0.SelfAttention.q.weight`, 0) / heads)),
      d_ff: shapes.extent(`${FIRST}.layer.1.DenseReluDense.wi_0.weight`, 0),
      num_heads: heads,
      num_layers: shapes.count((i) => `encoder.block.${i}.layer.0.SelfAttention.q.weight`),
      relative_attention_num_buckets: shapes.extent(BIASES, 0),
      relative_attention_max_distance: FARTHEST,
      feed_forward_proj: 'gated-gelu',
      layer_norm_epsilon: 1e-6,
    },
  };
}
