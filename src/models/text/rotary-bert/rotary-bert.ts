// The encoder of NomicBERT, GTE, Jina Embeddings v3 and Jina's XLM-RoBERTa: BERT with rotated heads in place of positions, of which few have learned ones.
// A norm follows each residual sum.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attention } from '../../../kernels/attention.ts';
import { kvOf, type KvPages, type TextBatch } from '../../../kernels/batch.ts';
import { embed } from '../../../kernels/embed.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd, linearGatedGelu, linearGeglu, linearSwiglu } from '../../../kernels/matmul.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import { rotations } from '../../../kernels/rotations.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import type { TextForward } from '../blocks/architecture.ts';
import { experts } from '../blocks/experts.ts';
import type { RotaryBertConfig } from './rotary-bert-config.ts';
import { taskEmbedding } from './task-loras.ts';

/** Names of modules. */
interface Names {
  embeddingNorm: string;
  layers: string;
  /** Queries, keys and values, or one matrix of them. */
  qkv: readonly string[];
  out: string;
  attentionNorm: string;
  outputNorm: string;
  /** The gate and what it multiplies, or one matrix of the latter and the gate. */
  gateUp: readonly [gate: string, up: string] | readonly [upGate: string];
  down: string;
  /** Of a block without a gate. */
  plain: { up: string; down: string };
}
const NOMIC: Names = {
  embeddingNorm: 'emb_ln',
  layers: 'encoder.layers',
  qkv: ['attn.Wqkv'],
  out: 'attn.out_proj',
  attentionNorm: 'norm1',
  outputNorm: 'norm2',
  gateUp: ['mlp.fc12', 'mlp.fc11'],
  down: 'mlp.fc2',
  plain: { up: 'mlp.fc1', down: 'mlp.fc2' },
};
const GTE: Names = {
  embeddingNorm: 'embeddings.LayerNorm',
  layers: 'encoder.layer',
  qkv: ['attention.qkv_proj'],
  out: 'attention.o_proj',
  attentionNorm: 'attn_ln',
  outputNorm: 'mlp_ln',
  gateUp: ['mlp.up_gate_proj'],
  down: 'mlp.down_proj',
  plain: NOMIC.plain,
};
const JINA: Names = { ...NOMIC, qkv: ['mixer.Wqkv'], out: 'mixer.out_proj' };
const TRANSFORMERS: Names = {
  embeddingNorm: 'embeddings.LayerNorm',
  layers: 'layers',
  qkv: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  out: 'self_attn.o_proj',
  attentionNorm: 'post_attention_layernorm',
  outputNorm: 'post_mlp_layernorm',
  gateUp: ['mlp.gate_proj', 'mlp.up_proj'],
  down: 'mlp.down_proj',
  plain: NOMIC.plain,
};

const EMBEDDING = 'embeddings.word_embeddings.weight';
const ROOTS = ['', 'new.', 'gte.', 'nomic_bert.', 'roberta.'];

/** Beginning of the names of all but the head. */
export const rootOf = (weights: WeightTable): string =>
  ROOTS.find((root) => weights.has(`${root}${EMBEDDING}`)) ?? '';

/** Normalized states of all rows, [rows, hidden]. All layers use the pages of store 0. */
export function rotaryBert(config: RotaryBertConfig, weights: WeightTable): TextForward {
  const { vocabulary, hidden, eps, rope, learned, types: kinds } = config;
  const root = rootOf(weights);
  const names =
    [NOMIC, GTE, JINA].find(({ layers, qkv }) => weights.has(`${root}${layers}.0.${qkv[0]}.weight`)) ??
    TRANSFORMERS;
  const embedding = weights.embedding(`${root}${EMBEDDING}`, vocabulary, hidden);
  const types =
    kinds > 0 ? weights.table(`${root}embeddings.token_type_embeddings.weight`, kinds, hidden) : null;
  const norm = affine(weights, `${root}${names.embeddingNorm}`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, names, `${root}${names.layers}.${i}`, i),
  );
  const positions =
    learned && weights.table(`${root}embeddings.position_embeddings.weight`, learned.count, hidden);
  const places = { ...(types && { types }), ...(learned && { positions: positions!, first: learned.first }) };
  const adapt = taskEmbedding(config, weights, `${root}embeddings`);
  weights.ignore(/rotary_emb\.|position_ids$|^([a-z_]+\.)?pooler\.|^(cls|lm_head|classifier)\./);

  return (tape, batch, stores) => {
    let x = layernorm(adapt(embed(tape, batch, embedding, { places }), batch), norm, eps); // [rows, hidden]
    const turns = rope && rotations(tape, batch, [rope], 0);
    for (const run of layers) x = run(x, turns, batch, kvOf(stores, 0));
    return x;
  };
}

function layer(config: RotaryBertConfig, weights: WeightTable, names: Names, name: string, at: number) {
  const { hidden, eps, heads, attentionBias: bias } = config;
  const shape = { heads, kvHeads: heads, dims: hidden / heads };
  const rows = (3 * hidden) / names.qkv.length;
  const parts = names.qkv.map((part) => ({ name: `${name}.${part}.weight`, rows }));
  const qkv = weights.stacked(parts, hidden, { bias });
  const out = weights.matrix(`${name}.${names.out}.weight`, hidden, hidden, { bias });
  const norm1 = affine(weights, `${name}.${names.attentionNorm}`, hidden);
  const { experts: mixture } = config;
  const feed: (x: Tensor, residual: Tensor, batch: TextBatch) => Tensor = mixture?.layers[at]
    ? experts(hidden, mixture, weights, name, mixture.layers.slice(0, at).filter(Boolean).length)
    : feedForward(config, weights, names, name);
  const norm2 = affine(weights, `${name}.${names.outputNorm}`, hidden);

  return (x: Tensor, turns: Tensor | null, batch: TextBatch, kv: KvPages): Tensor => {
    const q = ropeKv(linear(x, qkv), turns, shape, kv, null, batch); // [rows, hidden]
    const mixed = attention(q, batch, shape, kv, { window: null });
    x = layernorm(linearAdd(mixed, out, x), norm1, eps);
    x = layernorm(feed(x, x, batch), norm2, eps);
    x.tape!.cut();
    return x;
  };
}

/** x + block(x); x [rows, hidden] → [rows, hidden] */
function feedForward(
  { hidden, ffn, gated, activation, upBias, downBias }: RotaryBertConfig,
  weights: WeightTable,
  names: Names,
  name: string,
): (x: Tensor) => Tensor {
  if (!gated) {
    const up = weights.matrix(`${name}.${names.plain.up}.weight`, ffn, hidden, { bias: upBias });
    const down = weights.matrix(`${name}.${names.plain.down}.weight`, hidden, ffn, { bias: downBias });
    return (x) => linearAdd(linear(x, up, { activation }), down, x);
  }
  const [first, second] = names.gateUp.map((part) => `${name}.${part}.weight`) as [string, string?];
  const bias = { bias: upBias };
  const pair =
    second === undefined
      ? weights.halves(first, ffn, hidden, bias)
      : weights.gateUp(first, second, ffn, hidden, bias);
  const down = weights.matrix(`${name}.${names.down}.weight`, hidden, ffn, { bias: downBias });
  const unit = activation === 'silu' ? linearSwiglu : second === undefined ? linearGeglu : linearGatedGelu;
  return (x) => linearAdd(unit(x, pair), down, x);
}
