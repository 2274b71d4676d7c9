// Norms of Voxtral Realtime's layers, before their feed-forward blocks: factors that two small matrices make of the number of tokens by which a text
// is behind its sound. That number is fixed for a model, so that the factors become part of the norms' weights as these are read.

import type { DerivedVectors } from '../../../files/tensors/derived.ts';
import { readConfig, type Json } from '../../config-values.ts';

/** Base of the wavelengths of a time's sines. */
const THETA = 10_000;

/** weight · (1 + up · gelu(down · time)) */
export function delayedNorms(json: Json): DerivedVectors {
  const config = readConfig('config.json', json);
  const time = wavesOf(config.count('delay_tokens', 6), config.count('hidden_size'));
  return {
    sign: /^(.*\.layers\.\d+)\.ada_rms_norm\.linear1\.weight$/,
    own: 'post_attention_layernorm.weight',
    others: ['ada_rms_norm.linear1.weight', 'ada_rms_norm.linear2.weight'],
    compute(values) {
      const [weight, down, up] = values;
      const rank = down!.length / time.length;
      if (weight!.length !== time.length || !Number.isInteger(rank) || up!.length !== rank * time.length)
        throw config.error(
          'bad_checkpoint',
          'hidden_size',
          `is ${time.length}, and the norms with ada_rms_norm have ${values.map(({ length }) => length).join(', ')} values: take both files from where the model was published`,
        );
      const factors = product(up!, product(down!, time).map(gelu));
      return Float32Array.from(weight!, (value, i) => value * (1 + factors[i]!));
    },
  };
}

/** cosines of a time, then its sines */
function wavesOf(time: number, columns: number): Float64Array {
  const half = Math.floor(columns / 2);
  return Float64Array.from({ length: columns }, (_, i) => {
    const angle = time * Math.exp((-Math.log(THETA) * (i % half)) / half);
    return i < half ? Math.cos(angle) : Math.sin(angle);
  });
}

/** matrix [rows, x.length] · x */
function product(matrix: Float32Array, x: Float64Array): Float64Array {
  return Float64Array.from({ length: Math.floor(matrix.length / x.length) }, (_, row) => {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += matrix[row * x.length + i]! * x[i]!;
    return sum;
  });
}

const gelu = (x: number): number => (x / 2) * (1 + erf(x / Math.SQRT2));

/** By the series whose terms are all of one sign: 2 / √π · e^(-x²) · Σ x · (2x²)^n / (1 · 3 · … (2n + 1)) */
function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}
