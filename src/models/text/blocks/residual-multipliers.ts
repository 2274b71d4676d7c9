// Multipliers of the residual stream. A model that adds r · f(norm(x)) to x is one whose stream is divided by r: it adds f alone, its norms need
// eps / r², and nothing else changes but the scales of embeddings and logits.

import type { ConfigReader } from '../../config-values.ts';
import type { DecoderConfig } from './decoder.ts';

type Multipliers = Pick<DecoderConfig, 'eps' | 'scalesResidual' | 'embeddingScale' | 'logitScale'>;

/** Granite's, but for that of the scores. */
export function graniteMultipliers(config: ConfigReader, eps: number): Multipliers {
  const residual = config.real('residual_multiplier', 1);
  return {
    eps: eps / residual ** 2,
    scalesResidual: true,
    embeddingScale: config.real('embedding_multiplier', 1) / residual,
    logitScale: 1 / config.real('logits_scaling', 1),
  };
}

/** MiniCPM divides scale_depth by √layers, and its logits by hidden_size / dim_model_base. */
export function miniCpmMultipliers(config: ConfigReader, layers: number, eps: number): Multipliers {
  const residual = config.real('residual_multiplier', 1) / Math.sqrt(layers);
  return {
    eps: eps / residual ** 2,
    scalesResidual: true,
    embeddingScale: config.real('embedding_multiplier', 1) / residual,
    logitScale: config.count('dim_model_base', 1) / config.count('hidden_size'),
  };
}

/** MiniCPM's names of its multipliers, by Granite's. */
export const MINICPM_KEYS = {
  embedding_multiplier: 'scale_emb',
  residual_multiplier: 'scale_depth',
} as const;
