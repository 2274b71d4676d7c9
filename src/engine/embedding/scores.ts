// Values of vectors and of heads as requests want them.

import type { EmbeddingModelInfo, EmbeddingRequest } from './embedding-model.ts';

type Outputs = Pick<EmbeddingModelInfo, 'normalized' | 'classifier'>;

/** A vector cut to `dimensions` and scaled to length one, or the scores of a text's labels or of those of its tokens. */
export function shapedValues(
  values: Float32Array,
  { dimensions, activation = true }: Pick<EmbeddingRequest, 'dimensions' | 'activation'>,
  { normalized, classifier }: Outputs,
): Float32Array {
  if (!classifier) return shapedVector(values, dimensions, normalized);
  if (!activation || classifier.activation === 'none') return values;
  if (classifier.activation === 'sigmoid') return values.map((value) => 1 / (1 + Math.exp(-value)));
  const count = classifier.labels.length;
  const scores = new Float32Array(values.length);
  for (let at = 0; at < values.length; at += count) scores.set(softmax(values.subarray(at, at + count)), at);
  return scores;
}

function softmax(values: Float32Array): number[] {
  const most = Math.max(...values);
  const terms = Array.from(values, (value) => Math.exp(value - most));
  const sum = terms.reduce((total, term) => total + term, 0);
  return terms.map((term) => term / sum);
}

/** Returns the first `dimensions` values, scaled to length one if the model's vectors are or if values were cut. */
function shapedVector(
  vector: Float32Array,
  dimensions: number | undefined,
  normalized: boolean,
): Float32Array {
  const values = dimensions === undefined ? vector : vector.slice(0, dimensions);
  if (!normalized && values.length === vector.length) return values;
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? values : values.map((value) => value / length);
}
