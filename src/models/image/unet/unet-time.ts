// The time embedding of a UNet: sinusoids and a small network, plus the pooled text and the image's sizes in SDXL, or the guidance
// scale in distilled models.

import type { Tensor } from '../../../gpu/tensor.ts';
import { silu } from '../../../kernels/activation.ts';
import { concat } from '../../../kernels/concat.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { timestepEmbedding } from '../../../kernels/timestep-embedding.ts';
import type { UNetConfig } from './unet-config.ts';
import type { WeightTable } from '../../weights.ts';

export interface TimePrompt {
  /** SDXL: text [batch, columns] and sizes, f32 [batch, ids]. */
  added?: { pooled: Tensor; ids: Tensor };
  /** The embedded guidance scale, [batch, guidanceDims]. */
  guidance?: Tensor;
}

/** The part of the time embedding that is constant over all steps. */
export interface TimeConditioning {
  /** [batch, timeDims] */
  added: Tensor | null;
  guidance: Tensor | null;
}

const MAX_PERIOD = 10000;

export function timeEmbedding(config: UNetConfig, weights: WeightTable, waves: number) {
  const { timeDims, guidanceDims, added } = config;
  const guide =
    guidanceDims === null ? null : weights.matrix('time_embedding.cond_proj.weight', waves, guidanceDims);
  const mlp = perceptron(weights, 'time_embedding', timeDims, waves);
  const addedMlp = added && perceptron(weights, 'add_embedding', timeDims, added.columns);
  const style = { flip: config.flipSinToCos, shift: config.freqShift, maxPeriod: MAX_PERIOD };

  return {
    condition(prompt: TimePrompt): TimeConditioning {
      const guidance = given(guide, prompt.guidance, 'an embedded guidance scale');
      const sizes = given(added, prompt.added, 'pooled text and sizes');
      if (!sizes) return { added: null, guidance };
      const ids = timestepEmbedding(sizes.ids, added!.idDims, style); // [batch, ids · idDims]
      return { added: linear(concat(sizes.pooled, ids), addedMlp![0], { activation: 'silu' }), guidance };
    },
    /** time f32 [batch, 1] → [batch, timeDims], with the SiLU that each residual block begins by */
    forward(time: Tensor, { added: extra, guidance }: TimeConditioning): Tensor {
      const x = timestepEmbedding(time, waves, style); //        [batch, waves]
      if (guide) linearAdd(guidance!, guide, x);
      const y = linear(x, mlp[0], { activation: 'silu' });
      if (!addedMlp) return linear(y, mlp[1], { activation: 'silu' });
      return silu(linearAdd(extra!, addedMlp[1], linear(y, mlp[1])));
    },
  };
}

/** Returns the value if the model takes one, and null if it does not; throws if the two disagree. */
function given<T>(taken: unknown, value: T | undefined, what: string): T | null {
  if ((taken === null) !== (value === undefined))
    throw new Error(`the model takes ${taken === null ? 'no' : ''} ${what}`);
  return value ?? null;
}

function perceptron(weights: WeightTable, name: string, rows: number, k: number): [Matrix, Matrix] {
  return [
    weights.matrix(`${name}.linear_1.weight`, rows, k, { bias: true }),
    weights.matrix(`${name}.linear_2.weight`, rows, rows, { bias: true }),
  ];
}
