// The layer of Bamba and of Granite 4's hybrids: Mamba-2 or attention, then a gated feed-forward block, to which Granite may add experts,
// with a norm before each.

import { linearAdd } from '../../../kernels/matmul.ts';
import { normed } from '../../../kernels/normed.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { experts } from '../blocks/experts.ts';
import { gatedMlp } from '../blocks/gated-mlp.ts';
import { mamba2 } from '../blocks/mamba2.ts';
import { selfAttention } from '../blocks/self-attention.ts';
import type { BambaConfig } from './bamba-config.ts';

export function bambaLayer(config: BambaConfig, weights: WeightTable, name: string, i: number): Block {
  const { hidden, eps, modules, mlpNames, experts: mixture } = config;
  const { window, slot } = config.layers[i]!;
  const inputNorm = weights.vector(`${name}.input_layernorm.weight`, hidden);
  const { attend, out } =
    slot === undefined
      ? selfAttention(config, weights, `${name}.self_attn`, { window })
      : mamba2(config, weights, `${name}.mamba`);
  const mlpNorm = weights.vector(`${name}.${modules.norm}.weight`, hidden);
  const block = `${name}.${modules.mlp}`;
  // GGUF files have gate and up apart.
  const fusedGateUp = weights.has(`${block}.${mlpNames?.gateUp}.weight`);
  const { gate, down } = gatedMlp({ ...config, fusedGateUp }, weights, block);
  const mixed = mixture ? experts(hidden, mixture, weights, name, i) : null;

  return (x, rope, batch, kept) => {
    x = linearAdd(attend(normed(x, inputNorm, eps), rope, batch, kept), out, x); // [rows, hidden]
    const y = normed(x, mlpNorm, eps); //                                           [rows, hidden]
    const h = gate(y); //                                                           [rows, ffn]
    return linearAdd(h, down, mixed ? mixed(y, x, batch) : x); //                   [rows, hidden]
  };
}
