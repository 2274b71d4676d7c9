// The tensors of GGUF decoders under the names of transformers: one table for all architectures, and what some of them do otherwise.

import type { GgufTensor } from '../../files/gguf/gguf.ts';
import type { GgufPart } from '../../files/gguf/model.ts';

/** How an architecture's files differ from its checkpoint. */
export interface DecoderLayout {
  /** Heads whose query and key rows are stored in pairs; null: rows are stored in their order. */
  paired: { heads: number; kvHeads: number } | null;
  /** Rows of queries, keys and values, for files that have them in one tensor. */
  fused: { q: number; kv: number };
  /** Number that was added to the weights of norms: 1 for models that compute with 1 + w. */
  normsAdded: number;
}

type Tensor = Pick<GgufTensor, 'name' | 'shape'>;

const OUTER: Readonly<Record<string, string>> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output.weight': 'lm_head.weight',
};
const IN_LAYER: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
  ffn_gate_inp: 'mlp.gate',
};
/** Tensors of all experts → projections, one after another in each expert. */
const EXPERTS: Readonly<Record<string, readonly string[]>> = {
  ffn_gate_exps: ['gate_proj'],
  ffn_up_exps: ['up_proj'],
  ffn_down_exps: ['down_proj'],
  ffn_gate_up_exps: ['gate_proj', 'up_proj'],
};
/** Tensors that the configuration is read from. */
const FACTORS = /^rope_(freqs|factors_(long|short))\.weight$/;
const LAYER = /^blk\.(\d+)\.([a-z_]+)(?:\.(\d+))?\.(weight|bias)$/;

/** null: no decoder has such a tensor. */
export function decoderParts(tensor: Tensor, layout: DecoderLayout): readonly GgufPart[] | null {
  const { name, shape } = tensor;
  if (FACTORS.test(name)) return [];
  const outer = OUTER[name];
  if (outer !== undefined)
    return [{ name: outer, shape, ...(name === 'output_norm.weight' && norm(layout)) }];
  const [, layer, module, expert, kind] = LAYER.exec(name) ?? [];
  if (layer === undefined || module === undefined) return null;
  const prefix = `model.layers.${layer}`;
  if (module === 'attn_qkv') return fusedParts(tensor, `${prefix}.self_attn`, kind!, layout);
  const each = EXPERTS[module];
  if (each !== undefined && kind === 'weight') return expertParts(tensor, `${prefix}.mlp.experts`, each);
  const own = IN_LAYER[module];
  if (own === undefined) return null;
  if (expert !== undefined) {
    const [, projection] = /^mlp\.(\w+_proj)$/.exec(own) ?? [];
    return projection === undefined
      ? null
      : [{ name: `${prefix}.mlp.experts.${expert}.${projection}.${kind}`, shape }];
  }
  const part = { name: `${prefix}.${own}.${kind}`, shape };
  if (module.endsWith('_norm')) return [{ ...part, ...norm(layout) }];
  const heads =
    module === 'attn_q' ? layout.paired?.heads : module === 'attn_k' ? layout.paired?.kvHeads : undefined;
  return [heads === undefined ? part : { ...part, pairedHeads: heads }];
}

function norm({ normsAdded }: DecoderLayout): Pick<GgufPart, 'added'> {
  return normsAdded === 0 ? {} : { added: normsAdded };
}

/** Queries, keys and values in one tensor. */
function fusedParts(
  { shape }: Tensor,
  prefix: string,
  kind: string,
  { fused, paired }: DecoderLayout,
): GgufPart[] {
  const { q, kv } = fused;
  const behind = shape.slice(1);
  const part = (name: string, firstRow: number, rows: number, heads?: number): GgufPart => ({
    name: `${prefix}.${name}.${kind}`,
    shape: [rows, ...behind],
    firstRow,
    ...(heads !== undefined && { pairedHeads: heads }),
  });
  return [
    part('q_proj', 0, q, paired?.heads),
    part('k_proj', q, kv, paired?.kvHeads),
    part('v_proj', q + kv, kv),
  ];
}

/** Each expert's matrices of a tensor [experts, rows, k]. */
function expertParts({ shape }: Tensor, prefix: string, projections: readonly string[]): GgufPart[] | null {
  const [count, all, k] = shape;
  if (shape.length !== 3 || all! % projections.length !== 0) return null;
  const rows = all! / projections.length;
  return Array.from({ length: count! }, (_, expert) =>
    projections.map((projection, nth) => ({
      name: `${prefix}.${expert}.${projection}.weight`,
      shape: [rows, k!],
      firstRow: expert * all! + nth * rows,
    })),
  ).flat();
}
