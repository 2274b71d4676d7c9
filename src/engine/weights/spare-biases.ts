// Biases of zeros that early GPTQ tools stored beside every quantized matrix, even of models without biases. They are read only to be sure that
// they are zero.

import { badCheckpoint } from '../../files/error.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { tensorsOf, type WeightRequest } from '../../models/weights.ts';
import type { CheckedTensor } from './damaged.ts';

const BIAS = /\.bias$/;

/** Biases beside weights in codes that no request reads, by their names in the architecture. */
export function spareBiases<Header extends Pick<TensorEntry, 'coded'>>(
  requests: readonly WeightRequest[],
  tensors: ReadonlyMap<string, Header>,
): Map<string, Header> {
  const read = new Set(requests.flatMap(tensorsOf).map(({ name }) => name));
  const isSpare = (name: string): boolean => {
    const weight = name.replace(BIAS, '.weight');
    return BIAS.test(name) && !read.has(name) && read.has(weight) && tensors.get(weight)?.coded !== undefined;
  };
  return new Map([...tensors].filter(([name]) => isSpare(name)));
}

/** Throws bad_checkpoint for one of these biases that has other values than zero. */
export function refuseBiases(checked: readonly CheckedTensor[], biases: Iterable<TensorEntry>): void {
  const names = new Set(Array.from(biases, ({ name }) => name));
  const found = checked.find(({ entry, counts }) => names.has(entry.name) && !counts.isZero);
  if (!found) return;
  throw badCheckpoint(
    `tensor ${found.entry.name} is not zero, and the architecture that config.json names has no such bias: the weights and config.json are not of one model, take both from where it was published`,
    found.entry.name,
  );
}
