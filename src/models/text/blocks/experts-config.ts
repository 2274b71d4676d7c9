// The mixture of experts that a config.json describes.

import type { Clamped } from '../../../kernels/expert-matmul.ts';
import { MOST_EXPERTS } from '../../../kernels/expert-plan.ts';
import { MOST_CHOSEN } from '../../../kernels/route.ts';
import type { ConfigReader } from '../../config-values.ts';

/** How a class names and describes its experts. */
export interface ExpertsFamily {
  /** Module of a layer that holds router and experts; '': the layer itself. */
  block: 'mlp' | 'block_sparse_moe' | '';
  /** Module of the router; left out: gate. */
  router?: string;
  /** A vector of factors on the shares of experts; left out: they stay as they are. */
  gains?: string;
  /** `gateUp`: a tensor of gate and up, where the checkpoint has no gate by itself. */
  projections: { gate: string; up: string; down: string; gateUp?: string };
  /** Order of its rows: gate and up alternate, or those of gate come first. Left out: turns. */
  gateUpOrder?: 'turns' | 'halves';
  /** Router and experts have biases. */
  bias?: boolean;
  /** Key of an expert's width. */
  ffn: 'moe_intermediate_size' | 'intermediate_size';
  /** Whether the shares of the chosen add up to one; `stated`: norm_topk_prob says. */
  normed: true | 'stated';
  /** mlp_only_layers and decoder_sparse_step leave some layers without experts. */
  denseLayers: boolean;
  /** A further expert takes all tokens, by a gate of its own. */
  shared: boolean;
}

export interface ExpertsConfig {
  names: Pick<ExpertsFamily, 'block' | 'router' | 'gains' | 'projections' | 'gateUpOrder'>;
  /** Router and experts have biases; left out: none. */
  bias?: boolean;
  /** Bounds and gain of a clamped gate; left out: silu, without bounds. */
  clamped?: Clamped;
  /** Activation of a gate that is not clamped; left out: silu. */
  activation?: 'silu' | 'gelu-tanh';
  /** Factor on the router's logits; left out: 1. */
  scale?: number;
  count: number;
  /** Number of experts per token. */
  chosen: number;
  /** Width of one expert. */
  ffn: number;
  /** Whether the shares of the chosen experts add up to one. */
  normed: boolean;
  /** Whether each layer has experts; other layers have one block for all tokens. */
  layers: boolean[];
  /** Width of the expert that takes all tokens; null: there is none. */
  shared: number | null;
}

export function readExperts(config: ConfigReader, family: ExpertsFamily, layers: number): ExpertsConfig {
  const key = config.values['num_local_experts'] != null ? 'num_local_experts' : 'num_experts';
  const experts = config.count(key);
  const chosen = config.count('num_experts_per_tok');
  if (chosen > experts) {
    throw config.error(
      'bad_checkpoint',
      'num_experts_per_tok',
      `is ${chosen}, more than the ${experts} experts there are: take the values that the model was published with`,
    );
  }
  if (experts > MOST_EXPERTS || chosen > MOST_CHOSEN) {
    throw config.error(
      'unsupported',
      'num_experts_per_tok',
      `${chosen} of ${experts} experts is not built; choose a model with at most ${MOST_EXPERTS} experts, and ${MOST_CHOSEN} of them a token`,
    );
  }
  const dense = family.denseLayers ? config.list('mlp_only_layers', []) : [];
  const every = family.denseLayers ? config.count('decoder_sparse_step', 1) : 1;
  return {
    names: family,
    bias: family.bias ?? false,
    count: experts,
    chosen,
    ffn: config.count(family.ffn),
    normed: family.normed === true || config.flag('norm_topk_prob', false),
    layers: Array.from({ length: layers }, (_, i) => !dense.includes(i) && (i + 1) % every === 0),
    shared: family.shared ? config.count('shared_expert_intermediate_size') : null,
  };
}

/** Counts the layers with experts. */
export function expertLayers(experts: ExpertsConfig | null): number {
  return experts?.layers.filter(Boolean).length ?? 0;
}
