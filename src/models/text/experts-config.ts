// The mixture of experts that a config.json describes.

import { EngineError } from '../../files/error.ts';
import { MOST_EXPERTS } from '../../kernels/expert-plan.ts';
import { MOST_CHOSEN } from '../../kernels/route.ts';
import { readConfig, type Json } from '../config-values.ts';

/** How a class names and describes its experts. */
export interface ExpertsFamily {
  /** Module of a layer that holds router and experts. */
  block: 'mlp' | 'block_sparse_moe';
  projections: { gate: string; up: string; down: string };
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
  names: Pick<ExpertsFamily, 'block' | 'projections'>;
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

export function readExperts(config: Json, family: ExpertsFamily, layers: number): ExpertsConfig {
  const { count, flag, list } = readConfig('config.json', config);
  const experts = count(config['num_local_experts'] != null ? 'num_local_experts' : 'num_experts');
  const chosen = count('num_experts_per_tok');
  if (chosen > experts) {
    throw new EngineError(
      'bad_checkpoint',
      `config.json: num_experts_per_tok is ${chosen}, more than the ${experts} experts there are`,
      { param: 'num_experts_per_tok' },
    );
  }
  if (experts > MOST_EXPERTS || chosen > MOST_CHOSEN) {
    throw new EngineError(
      'unsupported',
      `config.json: ${chosen} of ${experts} experts a token are not built; choose a model with at most ${MOST_EXPERTS}, and ${MOST_CHOSEN} of them a token`,
    );
  }
  const dense = family.denseLayers ? list('mlp_only_layers', []) : [];
  const every = family.denseLayers ? count('decoder_sparse_step', 1) : 1;
  return {
    names: family,
    count: experts,
    chosen,
    ffn: count(family.ffn),
    normed: family.normed === true || flag('norm_topk_prob', false),
    layers: Array.from({ length: layers }, (_, i) => !dense.includes(i) && (i + 1) % every === 0),
    shared: family.shared ? count('shared_expert_intermediate_size') : null,
  };
}

/** Counts the layers with experts. */
export function expertLayers(experts: ExpertsConfig | null): number {
  return experts?.layers.filter(Boolean).length ?? 0;
}
