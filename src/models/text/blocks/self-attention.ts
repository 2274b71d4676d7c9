// Self-attention as the decoders share it: fused projections, norms of queries and keys, rotation, pages, softmax. The output's
// projection is left to the block, which adds it to the residual stream in its own way.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { AttentionRule } from '../../../kernels/attention-rule.ts';
import { attention } from '../../../kernels/attention.ts';
import type { HeadNorms, HeadShape, TextBatch } from '../../../kernels/batch.ts';
import { gateHeads } from '../../../kernels/gate-heads.ts';
import { linear } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import type { Rows } from '../../../kernels/normed.ts';
import { rmsnormColumns } from '../../../kernels/rmsnorm-columns.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import type { WeightTable } from '../../weights.ts';
import type { DecoderConfig } from './decoder.ts';
import { pagesOf, type KeptState } from './kept-states.ts';

export interface AttentionConfig extends Pick<DecoderConfig, 'hidden' | 'eps' | 'normPlus'> {
  heads: HeadShape;
  /** Columns of what is projected to queries, keys and values; left out: hidden. */
  attended?: number;
  qkvBias: boolean;
  outBias: boolean;
  /** RMSNorm on queries and keys: head by head, with weights or without, or all heads of a row together; left out: none. */
  queryNorm?: 'none' | 'heads' | 'plain' | 'row';
  /** The norms of heads follow the rotation. */
  normTurned?: boolean;
  /** Names that differ from those of NAMES. */
  attentionNames?: Partial<typeof NAMES>;
  /** Values are normalized head by head, too, without weights. */
  valueNorm?: boolean;
  /** q, k and v are rows of one tensor. */
  fusedQkv?: boolean;
  /** Each head has a further score without a value, `sinks`. */
  sinks?: boolean;
}

/** Names of the fused and of the output's projection, and of the norms. */
const NAMES = { qkv: 'qkv_proj', out: 'o_proj', qNorm: 'q_norm', kNorm: 'k_norm' };

export interface SelfAttention {
  /** x [rows, attended] → [rows, heads · dims]; `rope` null: heads are not rotated. */
  attend(x: Rows, rope: Tensor | null, batch: TextBatch, kept: KeptState): Tensor;
  /** [hidden, heads · dims] */
  out: Matrix;
}

export function selfAttention(
  config: AttentionConfig,
  weights: WeightTable,
  name: string,
  rule: Omit<AttentionRule, 'sinks'>,
): SelfAttention {
  const { hidden, heads: shape, qkvBias, outBias, attended = hidden } = config;
  const { heads, dims } = shape;
  const names = { ...NAMES, ...config.attentionNames };
  // GGUF files of some families hold by itself what their checkpoints hold in one tensor.
  const fusedQkv = config.fusedQkv === true && !weights.has(`${name}.q_proj.weight`);
  const qkv = weights.stacked(projections({ ...config, fusedQkv }, name), attended, {
    bias: qkvBias,
    split: 'columns',
  });
  const norms = queryNorms(config, weights, name);
  const sinks = config.sinks ? weights.vector(`${name}.sinks`, heads) : null;
  const out = weights.matrix(`${name}.${names.out}.weight`, hidden, heads * dims, {
    bias: outBias,
    split: 'rows',
  });

  return {
    attend(x, rope, batch, kept) {
      const kv = pagesOf(kept, name);
      const y = norms.ofRow(linear(x, qkv)); //              [rows, (heads + 2 · kvHeads) · dims]
      const q = ropeKv(y, rope, shape, kv, norms.ofHeads, batch); // [rows, heads · dims]
      const mixed = attention(q, batch, shape, kv, { ...rule, sinks }); // [rows, heads · dims]
      return shape.gated ? gateHeads(mixed, y, dims) : mixed;
    },
    out,
  };
}

function projections({ heads: shape, fusedQkv, attentionNames }: AttentionConfig, name: string) {
  const { heads, kvHeads, dims, gated = false, kv = 'both' } = shape;
  const { qkv } = { ...NAMES, ...attentionNames };
  if (fusedQkv) return [{ name: `${name}.${qkv}.weight`, rows: (heads + 2 * kvHeads) * dims }];
  return [
    { name: `${name}.q_proj.weight`, rows: (gated ? 2 : 1) * heads * dims },
    ...(kv === 'none' ? [] : [{ name: `${name}.k_proj.weight`, rows: kvHeads * dims }]),
    ...(kv === 'both' ? [{ name: `${name}.v_proj.weight`, rows: kvHeads * dims }] : []),
  ];
}

/** Norms of queries and keys: one per head at the rotation, or one over all heads of a row before it. */
function queryNorms(config: AttentionConfig, weights: WeightTable, name: string) {
  const { queryNorm = 'none', normPlus: plus = 0, heads: shape, eps } = config;
  const { valueNorm: values = false, normTurned: turned = false } = config;
  const none = { ofRow: (qkv: Tensor): Tensor => qkv, ofHeads: null };
  if (queryNorm === 'none') return none;
  if (queryNorm === 'plain')
    return { ...none, ofHeads: { q: null, k: null, eps, values } satisfies HeadNorms };
  const { heads, kvHeads, dims } = shape;
  const isRow = queryNorm === 'row';
  const { qNorm, kNorm } = { ...NAMES, ...config.attentionNames };
  const q = weights.vector(`${name}.${qNorm}.weight`, isRow ? heads * dims : dims, { plus });
  const k =
    shape.kv === 'none'
      ? q
      : weights.vector(`${name}.${kNorm}.weight`, isRow ? kvHeads * dims : dims, { plus });
  const ofHeads: HeadNorms = { q, k, eps, values, turned };
  if (!isRow) return { ...none, ofHeads };
  const ofRow = (qkv: Tensor): Tensor => rmsnormColumns(rmsnormColumns(qkv, 0, q, eps), heads * dims, k, eps);
  return { ...none, ofRow };
}
