// The mixture of experts that a config.json describes.

import type { Activation } from '../../../kernels/activation.ts';
import type { Clamped } from '../../../kernels/expert-matmul.ts';
import { MOST_EXPERTS } from '../../../kernels/expert-plan.ts';
import { MOST_CHOSEN, MOST_GROUPS, type ExpertGroups } from '../../../kernels/route.ts';
import type { ConfigReader } from '../../config-values.ts';
import type { MlpConfig } from './gated-mlp.ts';

/** How a class names and describes its experts. */
export interface ExpertsFamily {
  /** Module of a layer that holds router and experts; '': the layer itself. */
  block: 'mlp' | 'block_sparse_moe' | 'feed_forward' | 'mixer' | '';
  /** Module of the router; left out: gate. */
  router?: string;
  /** A vector of factors on the shares of experts; left out: they stay as they are. */
  gains?: string;
  /** Without `gate`, experts have none. `gateUp`: a tensor of gate and up, where the checkpoint has no gate by itself. */
  projections: { gate?: string; up: string; down: string; gateUp?: string };
  /** Order of its rows: gate and up alternate, or those of gate come first. Left out: turns. */
  gateUpOrder?: 'turns' | 'halves';
  /** Router and experts have biases. */
  bias?: boolean;
  /** A vector within `block` that is added to what a row's experts make together; left out: none. */
  sumBias?: string;
  /** Key of an expert's width. */
  ffn: 'moe_intermediate_size' | 'intermediate_size';
  /** Whether the shares of the chosen add up to one; `stated`: norm_topk_prob says. */
  normed: true | 'stated';
  /** Scores of the router; left out: softmax. */
  scores?: 'softmax' | 'sigmoid';
  /** Tensor within `block` of values that are added to the scores for the choice; left out: none. */
  choiceBias?: string;
  /**
   * Experts are chosen among those of the topk_group best of n_group groups. A group is as good as its best expert, or as its two best
   * together. Left out: there are no groups.
   */
  groupsBy?: 1 | 2;
  /** routed_scaling_factor multiplies the shares. */
  scaled?: boolean;
  /** The share of a row's one expert multiplies what the expert reads. */
  gatesInput?: boolean;
  /** PhiMoE's sparsemixer: default of router_jitter_noise; logits within twice that share of the larger count. */
  jitter?: number;
  /** mlp_only_layers and decoder_sparse_step leave some layers without experts; `first`: first_k_dense_replace or mlp_layer_types do. */
  denseLayers: boolean | 'first';
  /** A further expert takes all tokens, by a gate of its own; `plain`: without a gate, as wide as shared_expert_intermediate_size or as n_shared_experts. */
  shared: boolean | 'plain';
  /** Where the `plain` one is, and what it is called; left out: shared_experts within `block`, with the projections of Llama. */
  sharedMlp?: SharedMlp;
}

export interface SharedMlp extends Pick<MlpConfig, 'mlpNames' | 'fusedGateUp'> {
  module: string;
  /** It is within the layer, beside `block`. */
  beside?: boolean;
}

export interface ExpertsConfig {
  names: Pick<
    ExpertsFamily,
    'block' | 'router' | 'gains' | 'projections' | 'gateUpOrder' | 'choiceBias' | 'sumBias' | 'sharedMlp'
  >;
  /** Router and experts have biases; left out: none. */
  bias?: boolean;
  /** Bounds and gain of a clamped gate; left out: silu, without bounds. */
  clamped?: Clamped;
  /** Experts have no gates, and this activation behind their first projection; left out: they have gates. */
  ungated?: Activation;
  /** Columns to which rows are projected before the experts, and from which what they make is projected back; left out: rows stay. */
  latent?: number | null;
  /** Activation of a gate that is not clamped; left out: silu. */
  activation?: 'silu' | 'gelu-tanh';
  /** Factor on the router's logits; left out: 1. */
  logitScale?: number;
  count: number;
  /** Number of experts per token. */
  chosen: number;
  /** Width of one expert. */
  ffn: number;
  /** Whether the shares of the chosen experts add up to one, before `scale`. */
  normed: boolean;
  /** Scores of the router; left out: softmax. */
  scores?: 'softmax' | 'sigmoid';
  /** Left out: all experts are open to a row. */
  groups?: ExpertGroups;
  /** Factor on the shares; left out: 1. */
  scale?: number;
  /** As Routing has it. */
  margin?: number;
  /** The share of a row's one expert multiplies what the expert reads, not what it makes; left out: false. */
  gatesInput?: boolean;
  /** Whether each layer has experts; other layers have one block for all tokens. */
  layers: boolean[];
  /** Width of the expert that takes all tokens; null: there is none. */
  shared: number | null;
  /** It has no gate of its own; left out: it has. */
  plainShared?: boolean;
}

/** Keys of the number of experts, in the order in which they count. */
const COUNT_KEYS = ['num_local_experts', 'n_routed_experts', 'num_experts'] as const;

export function readExperts(config: ConfigReader, family: ExpertsFamily, layers: number): ExpertsConfig {
  const key = COUNT_KEYS.find((one) => config.values[one] != null) ?? 'num_experts';
  const experts = config.count(key);
  const chosen = config.count('num_experts_per_tok');
  if (chosen > experts) {
    throw config.error(
      'bad_checkpoint',
      'num_experts_per_tok',
      `is ${chosen}, more than the ${experts} experts there are: ${PUBLISHED}`,
    );
  }
  if (experts > MOST_EXPERTS || chosen > MOST_CHOSEN) {
    throw config.error(
      'unsupported',
      'num_experts_per_tok',
      `${chosen} of ${experts} experts is not built; choose a model with at most ${MOST_EXPERTS} experts, and ${MOST_CHOSEN} of them a token`,
    );
  }
  const { groupsBy } = family;
  const groups = groupsBy === undefined ? null : readGroups(config, experts, chosen, groupsBy);
  return {
    names: family,
    bias: family.bias ?? false,
    count: experts,
    chosen,
    ffn: config.count(family.ffn),
    normed: family.normed === true || config.flag('norm_topk_prob', false),
    ...(family.scores && { scores: family.scores }),
    ...(groups && { groups }),
    ...(family.scaled && { scale: config.real('routed_scaling_factor', 1) }),
    ...(family.gatesInput && { gatesInput: true }),
    ...(family.jitter !== undefined && { margin: 2 * config.real('router_jitter_noise', family.jitter) }),
    layers: readSparse(config, family, layers),
    shared: readShared(config, family),
    ...(family.shared === 'plain' && { plainShared: true }),
  };
}

const PUBLISHED = 'take the values that the model was published with';

/** null: all experts are open to a row. */
function readGroups(config: ConfigReader, experts: number, chosen: number, by: 1 | 2): ExpertGroups | null {
  const count = config.count('n_group', 1);
  const open = config.count('topk_group', count);
  if (open >= count) return null;
  if (count > MOST_GROUPS || experts % count !== 0 || (open * experts) / count < chosen) {
    throw config.error(
      'bad_checkpoint',
      'n_group',
      `is ${count}, and ${open} of them are to hold ${chosen} of ${experts} experts: ${PUBLISHED}`,
    );
  }
  return { count, chosen: open, by };
}

/** Whether each layer has experts. */
function readSparse(config: ConfigReader, { denseLayers }: ExpertsFamily, layers: number): boolean[] {
  const each = Array.from({ length: layers }, (_, i) => i);
  if (denseLayers !== 'first') {
    const dense = denseLayers ? config.list('mlp_only_layers', []) : [];
    const every = denseLayers ? config.count('decoder_sparse_step', 1) : 1;
    return each.map((i) => !dense.includes(i) && (i + 1) % every === 0);
  }
  if (config.values['mlp_layer_types'] == null) {
    const dense = config.count('first_k_dense_replace', 0);
    const every = config.count('moe_layer_freq', 1);
    return each.map((i) => i >= dense && i % every === 0);
  }
  const types = config.texts('mlp_layer_types', ['dense', 'sparse']);
  if (types.length === layers) return types.map((type) => type === 'sparse');
  throw config.error(
    'bad_checkpoint',
    'mlp_layer_types',
    `has ${types.length} of ${layers} layers: ${PUBLISHED}`,
  );
}

/** Width of the expert that takes all tokens; null: there is none. */
function readShared(config: ConfigReader, { shared, ffn }: ExpertsFamily): number | null {
  const isStated = config.values['shared_expert_intermediate_size'] != null;
  if (shared !== 'plain' || isStated) return shared ? config.count('shared_expert_intermediate_size') : null;
  const count = config.count('n_shared_experts', 0);
  return count === 0 ? null : count * config.count(ffn);
}

/** Counts the layers with experts. */
export function expertLayers(experts: ExpertsConfig | null): number {
  return experts?.layers.filter(Boolean).length ?? 0;
}
