// The layer of GPT and its kin: norms of any kind, attention, and a feed-forward block with or without a gate or of experts, one after the other or
// beside each other. Seven dispatches per layer; six if both blocks read one norm.

import type { Tensor } from '../../../gpu/tensor.ts';
import type { Activation } from '../../../kernels/activation.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { xielu, type Xielu } from '../../../kernels/xielu.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import type { WeightTable } from '../../weights.ts';
import type { DecoderModel } from './decoder-architecture.ts';
import type { Block } from './decoder.ts';
import { feedForward as mixtureOrGated } from './feed-forward.ts';
import { gatedMlp } from './gated-mlp.ts';
import { norm } from './norm.ts';
import { selfAttention, type AttentionConfig } from './self-attention.ts';

export interface PlainConfig extends DecoderModel, AttentionConfig {
  modules: PlainModules;
  /** Activation of the feed-forward block, or of its gate. */
  activation: Activation | 'xielu';
  /** Parameters of each layer's xIELU; left out: they are tensors of the module act_fn. */
  xielu?: readonly Xielu[];
  /** Whether the feed-forward block has biases. */
  mlpBias: boolean;
  /** Both blocks read the layer's input; otherwise the second reads what the first has added to it. */
  parallel: boolean;
}

/** Names of the modules in a layer. */
interface PlainModules {
  /** Left out: input_layernorm. */
  attentionNorm?: string;
  attention: string;
  /** null: the norm of attention, in blocks beside each other. Left out: post_attention_layernorm. */
  mlpNorm?: string | null;
  /** Left out: the feed-forward block has no gate. */
  gate?: string;
  up: string;
  down: string;
}

export function plainLayer(config: PlainConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, modules, parallel, norm: kind = 'rms', normPlus: plus = 0 } = config;
  const { attentionNorm = 'input_layernorm', mlpNorm = 'post_attention_layernorm' } = modules;
  const { window } = config.layers[i]!;
  const ofAttention = norm(weights, `${name}.${attentionNorm}`, hidden, { kind, eps, plus });
  const { attend, out } = selfAttention(config, weights, `${name}.${modules.attention}`, { window });
  const ofMlp = mlpNorm === null ? null : norm(weights, `${name}.${mlpNorm}`, hidden, { kind, eps, plus });
  const mlp = feedForward(config, weights, name, i);

  return (x, rope, batch, kv) => {
    const y = ofAttention.all(x); //                                       [rows, hidden]
    const early = parallel ? (ofMlp?.all(x) ?? y) : null;
    x = linearAdd(attend(y, rope, batch, kv), out, x); //                  [rows, hidden]
    return mlp(early ?? ofMlp!.all(x), x, batch); //                       [rows, hidden]
  };
}

/** The feed-forward block of layer `i`, with the addition to the residual stream. */
function feedForward(
  config: PlainConfig,
  weights: WeightTable,
  name: string,
  i: number,
): (x: Tensor, residual: Tensor, batch: TextBatch) => Tensor {
  if (config.experts) return mixtureOrGated(config, weights, name, i);
  const { widen, down } = dense(config, weights, name, i);
  return (x, residual) => linearAdd(widen(x), down, residual);
}

/** `widen`: x [rows, hidden] → [rows, ffn]; `down`: [hidden, ffn] */
function dense(
  config: PlainConfig,
  weights: WeightTable,
  name: string,
  i: number,
): { widen: (x: Tensor) => Tensor; down: Matrix } {
  const { hidden, ffn, activation, mlpBias: bias } = config;
  const { gate, up, down } = config.modules;
  if (gate !== undefined) {
    const gated = gatedMlp({ hidden, ffn, mlpBias: bias, mlpNames: { gate, up, down } }, weights, name);
    return { widen: gated.gate, down: gated.down };
  }
  const first = weights.matrix(`${name}.${up}.weight`, ffn, hidden, { bias, split: 'columns' });
  const last = weights.matrix(`${name}.${down}.weight`, hidden, ffn, { bias, split: 'rows' });
  if (activation !== 'xielu') return { widen: (x) => linear(x, first, { activation }), down: last };
  const of = config.xielu?.[i] ?? storedXielu(weights, `${name}.mlp.act_fn`);
  return { widen: (x) => xielu(linear(x, first), of), down: last };
}

/** Checkpoints may have the constants beta and eps, too, which are those of all models. */
function storedXielu(weights: WeightTable, name: string): Xielu {
  const [positive, negative] = ['alpha_p', 'alpha_n'].map((one) => weights.vector(`${name}.${one}`, 1));
  weights.ignore(/\.act_fn\.(beta|eps)$/);
  return { positive: positive!, negative: negative!, beta: 0.5, eps: -1e-6 };
}
