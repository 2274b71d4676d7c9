// The mixture of experts that a config.json describes.

import { EngineError } from '../../files/error.ts';
import { MOST_EXPERTS } from '../../kernels/expert-plan.ts';
import { MOST_CHOSEN } from '../../kernels/route.ts';
import { readConfig, type Json } from '../config-values.ts';

export interface ExpertsConfig {
  count: number;
  /** Number of experts per token. */
  chosen: number;
  /** Width of one expert. */
  ffn: number;
  /** Whether the shares of the chosen experts add up to one. */
  normed: boolean;
  /** Whether each layer has experts; other layers have one block for all tokens. */
  layers: boolean[];
}

export function readExperts(config: Json, architecture: string, layers: number): ExpertsConfig | null {
  const isQwen = architecture === 'Qwen3MoeForCausalLM';
  if (!isQwen && architecture !== 'OlmoeForCausalLM') return null;
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
  const dense = isQwen ? list('mlp_only_layers', []) : [];
  const every = isQwen ? count('decoder_sparse_step', 1) : 1;
  return {
    count: experts,
    chosen,
    ffn: count(isQwen ? 'moe_intermediate_size' : 'intermediate_size'),
    normed: flag('norm_topk_prob', false),
    layers: Array.from({ length: layers }, (_, i) => !dense.includes(i) && (i + 1) % every === 0),
  };
}

/** Counts the layers with experts. */
export function expertLayers(experts: ExpertsConfig | null): number {
  return experts?.layers.filter(Boolean).length ?? 0;
}
