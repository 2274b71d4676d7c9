// The page of EAGLE3: three states of the target become one, and a layer of Llama attends to it beside the token's embedding. What it adds up to is
// handed on to the next token, and its norm goes to a head of its own over a part of the vocabulary. Source: SGLang's and vLLM's llama_eagle3.py.

import { concat } from '../../../kernels/concat.ts';
import { embed } from '../../../kernels/embed.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import { rotations } from '../../../kernels/rotations.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import type { WeightTable } from '../../weights.ts';
import type { DraftPage, DraftTarget } from '../blocks/architecture.ts';
import { gatedMlp, type MlpConfig } from '../blocks/gated-mlp.ts';
import { norm } from '../blocks/norm.ts';
import type { RopeConfig } from '../blocks/rope.ts';
import { selfAttention, type AttentionConfig } from '../blocks/self-attention.ts';

export interface Eagle3Config extends AttentionConfig, MlpConfig {
  vocabulary: number;
  /** Tokens that it can guess. */
  guessed: number;
  /** Columns of the target's states. */
  targetHidden: number;
  ropes: readonly RopeConfig[];
  /** Whether the normalized state is what attention is added to. */
  normBeforeResidual: boolean;
}

/** Names of the layer in checkpoints of the original program and in those of others. */
const LAYERS = ['midlayer', 'layers.0'] as const;

export function eagle3Page(config: Eagle3Config, weights: WeightTable, target: DraftTarget): DraftPage {
  const { hidden, eps, ropes, guessed, targetHidden, normBeforeResidual } = config;
  const name = weights.has(`${LAYERS[0]}.input_layernorm.weight`) ? LAYERS[0] : LAYERS[1];
  const both = weights.matrix('fc.weight', hidden, 3 * targetHidden);
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const hiddenNorm = weights.vector(`${name}.hidden_norm.weight`, hidden);
  const { attend, out } = selfAttention({ ...config, attended: 2 * hidden }, weights, `${name}.self_attn`, {
    window: null,
  });
  const postNorm = weights.vector(`${name}.post_attention_layernorm.weight`, hidden);
  const { gate, down } = gatedMlp(config, weights, `${name}.mlp`);
  const final = norm(weights, 'norm', hidden, { kind: 'rms', eps });
  const head = weights.has('lm_head.weight') ? weights.head('lm_head.weight', guessed, hidden) : null;
  const { embedding, scale } = embeddingOf(config, weights, target);
  // The first is read beside the weights, and the second says the same in the other direction.
  weights.ignore(/^(d2t|t2d)$/);

  return {
    enter: (taken) => linear(taken, both), // [rows, hidden]
    states(tape, batch, stores, before) {
      const token = rmsnorm(embed(tape, batch, embedding, { scale }), inputNorm, eps); // [rows, hidden]
      const state = rmsnorm(before!, hiddenNorm, eps);
      const mixed = attend(concat(token, state), rotations(tape, batch, ropes, 0), batch, stores[0]!);
      const x = linearAdd(mixed, out, normBeforeResidual ? state : before!); //              [rows, hidden]
      return linearAdd(gate(normed(x, postNorm, eps)), down, x);
    },
    head(x, { wanted }) {
      const last = final.rows(x, wanted, 'sampled'); // [sampled, hidden]
      return { logits: head ? linear(last, head) : target.logits(last), handed: null };
    },
  };
}

/** Checkpoints have an embedding of their own, or leave it out. */
function embeddingOf(
  { hidden, vocabulary }: Eagle3Config,
  weights: WeightTable,
  { embedding, embeddingScale }: DraftTarget,
): { embedding: Matrix; scale: number } {
  const own = 'embed_tokens.weight';
  if (!weights.has(own)) return { embedding, scale: embeddingScale };
  return { embedding: weights.embedding(own, vocabulary, hidden), scale: 1 };
}
