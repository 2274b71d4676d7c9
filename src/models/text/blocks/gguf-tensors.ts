// The tensors of GGUF decoders under the names of transformers: one table for all architectures, and what some of them do otherwise.

import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import type { GgufPart } from '../../../files/gguf/model.ts';
import type { SharedMlp } from './experts-config.ts';

/** How an architecture's files differ from its checkpoint. */
export interface DecoderLayout {
  /** Heads whose query and key rows are stored in pairs; left out: rows are stored in their order. */
  paired?: { heads: number; kvHeads: number } | null;
  /** Rows of queries, keys and values, for files that have them in one tensor; left out: the page reads them as one, too. */
  fused?: { q: number; kv: number } | null;
  /** Number that was added to the weights of norms: 1 for models that compute with 1 + w; left out: 0. */
  normsAdded?: number;
  /** Beginning of names, and the module of the layers; left out: `model.` and `layers` */
  prefix?: string;
  layers?: string;
  /** Tensors outside of the layers that are not in the table. */
  outer?: Readonly<Record<string, string>>;
  /** Modules of a layer that are named otherwise than in the table. */
  names?: Readonly<Record<string, string>>;
  /** Module of experts, and their projections. */
  experts?: ExpertNames;
}

export interface ExpertNames {
  block: string;
  /** Left out: gate. */
  router?: string;
  /** Left out: experts have no gates. */
  projections: { gate?: string; up: string; down: string };
  /** Tensor of values that are added to the scores of the experts. */
  choiceBias?: string;
  /** An expert of all tokens, where it has no gate of its own. */
  shared?: boolean | 'plain';
  sharedMlp?: SharedMlp;
}

const MLP_NAMES = { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' };
const EXPERT_NAMES: ExpertNames = { block: 'mlp', projections: MLP_NAMES };

type Tensor = Pick<GgufTensor, 'name' | 'shape'>;

const OUTER: Readonly<Record<string, string>> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output_norm.bias': 'model.norm.bias',
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
  ffn_gate_shexp: 'mlp.shared_expert.gate_proj',
  ffn_up_shexp: 'mlp.shared_expert.up_proj',
  ffn_down_shexp: 'mlp.shared_expert.down_proj',
  ffn_gate_inp_shexp: 'mlp.shared_expert_gate',
};
const ROUTER = 'ffn_gate_inp';
const CHOICE_BIAS = 'exp_probs_b';
const SHARED: Readonly<Record<string, 'gate' | 'up' | 'down'>> = {
  ffn_gate_shexp: 'gate',
  ffn_up_shexp: 'up',
  ffn_down_shexp: 'down',
};
/** Tensors of all experts → projections, one after another in each expert. */
const EXPERTS: Readonly<Record<string, readonly ('gate' | 'up' | 'down')[]>> = {
  ffn_gate_exps: ['gate'],
  ffn_up_exps: ['up'],
  ffn_down_exps: ['down'],
  ffn_gate_up_exps: ['gate', 'up'],
};
/** Tensors that the configuration is read from. */
const FACTORS = /^rope_(freqs|factors_(long|short))\.weight$/;
const LAYER = /^blk\.(\d+)\.([a-z_]+\d?(?:\.[a-z_]+)?)(?:\.(\d+))?\.(weight|bias)$/;

/** Heads of a configuration, and their rows in a tensor of queries, keys and values. An adapter's model may leave some of the keys out. */
export function headsOf(config: Readonly<Record<string, unknown>>): {
  heads: number;
  kvHeads: number;
  rows: { q: number; kv: number };
} {
  const { num_attention_heads: heads, num_key_value_heads, head_dim, hidden_size: hidden } = config;
  const count = heads as number;
  const kvHeads = (num_key_value_heads ?? count) as number;
  const dims = (head_dim ?? (hidden as number) / count) as number;
  return { heads: count, kvHeads, rows: { q: count * dims, kv: kvHeads * dims } };
}

/** null: no decoder has such a tensor. */
export function decoderParts(tensor: Tensor, layout: DecoderLayout): readonly GgufPart[] | null {
  const { name, shape } = tensor;
  if (FACTORS.test(name)) return [];
  const outer = layout.outer?.[name] ?? OUTER[name];
  if (outer !== undefined)
    return [{ name: outer, shape, ...(name === 'output_norm.weight' && norm(layout)) }];
  const own = isChoiceBias(name) ? name.replace(/(\.bias)?$/, '.bias') : name;
  const [, layer, module, expert, kind] = LAYER.exec(own) ?? [];
  if (layer === undefined || module === undefined) return null;
  const prefix = `${layout.prefix ?? 'model.'}${layout.layers ?? 'layers'}.${layer}`;
  const { block, router = 'gate', projections, choiceBias } = layout.experts ?? EXPERT_NAMES;
  if (module === 'attn_qkv' && layout.fused)
    return fusedParts(tensor, `${prefix}.self_attn`, kind!, { ...layout, fused: layout.fused });
  const holder = block === '' ? prefix : `${prefix}.${block}`;
  if (module === ROUTER) return [{ name: `${holder}.${router}.${kind}`, shape }];
  if (module === CHOICE_BIAS)
    return choiceBias === undefined ? null : [{ name: `${holder}.${choiceBias}`, shape }];
  const shared = SHARED[module];
  if (shared !== undefined && layout.experts?.shared === 'plain')
    return [{ name: `${prefix}.${sharedName(layout.experts, shared)}.${kind}`, shape }];
  const each = expertNames(module, projections);
  if (each !== null) {
    const all = `${holder}.experts`;
    return kind === 'weight' ? expertParts(tensor, all, each) : expertBiases(tensor, all, each);
  }
  if (expert !== undefined) {
    // Files of the first mixtures have a tensor for each expert.
    const one = expertNames(`${module}_exps`, projections);
    return one?.length === 1 ? [{ name: `${holder}.experts.${expert}.${one[0]}.${kind}`, shape }] : null;
  }
  const named = layout.names?.[module] ?? IN_LAYER[module];
  if (named === undefined) return null;
  // The converter stores a matrix of one row as a vector.
  const isGate = module === 'ffn_gate_inp_shexp' && shape.length === 1;
  const part = { name: `${prefix}.${named}.${kind}`, shape: isGate ? [1, ...shape] : shape };
  if (module.endsWith('_norm')) return [{ ...part, ...(kind === 'weight' && norm(layout)) }];
  const heads =
    module === 'attn_q' ? layout.paired?.heads : module === 'attn_k' ? layout.paired?.kvHeads : undefined;
  return [heads === undefined ? part : { ...part, pairedHeads: heads }];
}

/** Whether a tensor is added to the scores of experts for their choice. The first files leave its kind out. */
export function isChoiceBias(name: string): boolean {
  return /\.exp_probs_b(\.bias)?$/.test(name);
}

/** Projections of each expert that a tensor holds; null: it holds none that the experts have. */
function expertNames(module: string, projections: ExpertNames['projections']): string[] | null {
  const names = EXPERTS[module]?.map((one) => projections[one]) ?? [undefined];
  return names.every((name) => name !== undefined) ? names : null;
}

/** A projection of the expert that takes all tokens. */
function sharedName({ block, sharedMlp }: ExpertNames, projection: 'gate' | 'up' | 'down'): string {
  const { module = 'shared_experts', beside = false, mlpNames } = sharedMlp ?? {};
  const own = (mlpNames ?? MLP_NAMES)[projection];
  return beside ? `${module}.${own}` : `${block}.${module}.${own}`;
}

function norm({ normsAdded = 0 }: DecoderLayout): Pick<GgufPart, 'added'> {
  return normsAdded === 0 ? {} : { added: normsAdded };
}

/** Queries, keys and values in one tensor. */
function fusedParts(
  { shape }: Tensor,
  prefix: string,
  kind: string,
  { fused: { q, kv }, paired }: DecoderLayout & { fused: { q: number; kv: number } },
): GgufPart[] {
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

/** Experts of a layer; a damaged file may claim any number. */
const MOST_EXPERTS = 4096;

/** Each expert's matrices of a tensor [experts, rows, k]. */
function expertParts({ shape }: Tensor, prefix: string, projections: readonly string[]): GgufPart[] | null {
  const [count, all, k] = shape;
  if (shape.length !== 3 || count! > MOST_EXPERTS || all! % projections.length !== 0) return null;
  const rows = all! / projections.length;
  return Array.from({ length: count! }, (_, expert) =>
    projections.map((projection, nth) => ({
      name: `${prefix}.${expert}.${projection}.weight`,
      shape: [rows, k!],
      firstRow: expert * all! + nth * rows,
    })),
  ).flat();
}

/** Each expert's bias of a tensor [experts, rows]. */
function expertBiases({ shape }: Tensor, prefix: string, projections: readonly string[]): GgufPart[] | null {
  const [count, rows] = shape;
  if (shape.length !== 2 || count! > MOST_EXPERTS || projections.length !== 1) return null;
  return Array.from({ length: count! }, (_, expert) => ({
    name: `${prefix}.${expert}.${projections[0]}.bias`,
    shape: [rows!],
    firstRow: expert,
  }));
}
