// The layer of Nemotron-H: one block behind a norm, which is Mamba-2, attention without positions, a feed-forward block without a gate,
// or experts without gates.

import type { Tensor } from '../../../gpu/tensor.ts';
import { linearAdd } from '../../../kernels/matmul.ts';
import { normed, type Rows } from '../../../kernels/normed.ts';
import type { TextBatch } from '../../../kernels/batch.ts';
import type { WeightTable } from '../../weights.ts';
import type { Block } from '../blocks/decoder.ts';
import { experts } from '../blocks/experts.ts';
import { plainMlp } from '../blocks/gated-mlp.ts';
import type { KeptState } from '../blocks/kept-states.ts';
import { mamba2 } from '../blocks/mamba2.ts';
import { selfAttention } from '../blocks/self-attention.ts';
import type { NemotronHConfig } from './nemotron-h-config.ts';

export function nemotronHLayer(
  config: NemotronHConfig,
  weights: WeightTable,
  name: string,
  i: number,
): Block {
  const { hidden, eps } = config;
  const norm = weights.vector(`${name}.norm.weight`, hidden);
  const add = mixer(config, weights, name, i);
  return (x, _, batch, kept) => add(normed(x, norm, eps), x, batch, kept); // [rows, hidden]
}

/** residual + block(x); x and residual [rows, hidden] → [rows, hidden] */
type Mixer = (x: Rows, residual: Tensor, batch: TextBatch, kept: KeptState) => Tensor;

function mixer(config: NemotronHConfig, weights: WeightTable, name: string, i: number): Mixer {
  const { hidden, kinds, experts: mixture } = config;
  const block = `${name}.mixer`;
  switch (kinds[i]!) {
    case 'moe': {
      const before = kinds.slice(0, i).filter((kind) => kind === 'moe').length;
      return experts(hidden, mixture!, weights, name, before);
    }
    case 'mlp': {
      const { up, down } = plainMlp(config, weights, block, 'relu-squared');
      return (x, residual) => linearAdd(up(x), down, residual);
    }
    case 'mamba': {
      const { attend, out } = mamba2(config, weights, block);
      return (x, residual, batch, kept) => linearAdd(attend(x, null, batch, kept), out, residual);
    }
    case 'attention': {
      const { attend, out } = selfAttention(config, weights, block, { window: null });
      return (x, residual, batch, kept) => linearAdd(attend(x, null, batch, kept), out, residual);
    }
  }
}
