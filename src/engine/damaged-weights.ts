// Refuses checkpoints by what their values are: NaN, infinity and absurd magnitudes give output that looks like a model's.

import { countText } from '../files/count-text.ts';
import { EngineError } from '../files/error.ts';
import type { TensorEntry } from '../files/checkpoint/safetensors.ts';
import type { ValueCounts } from '../kernels/check-values.ts';

/** Throws bad_checkpoint, with the file, the tensor and the count, about the first of these tensors that has such values. */
export function refuseDamaged(entries: readonly TensorEntry[], counts: readonly ValueCounts[]): void {
  const damaged = entries.flatMap((entry, i) => {
    const { nonFinite, oversize } = counts[i]!;
    return nonFinite + oversize > 0 ? [{ entry, nonFinite, oversize }] : [];
  });
  const [first] = damaged;
  if (!first) return;
  const { entry, nonFinite, oversize } = first;
  const values = entry.shape.reduce((product, extent) => product * extent, 1);
  const problems = [
    ...(nonFinite > 0 ? [`${countText(nonFinite, 'value')} that ${areOrIs(nonFinite)} NaN or infinite`] : []),
    ...(oversize > 0 ? [`${countText(oversize, 'value')} of a magnitude above 1.8e19`] : []),
  ];
  const others = damaged.length === 1 ? '' : ` (and ${countText(damaged.length - 1, 'more tensor')})`;
  throw new EngineError(
    'bad_checkpoint',
    `tensor ${entry.name} of ${entry.source.name}${others} has ${problems.join(' and ')} among its ${values}: ` +
      'fetch the file again, or choose another checkpoint if it was published so',
    { param: entry.name },
  );
}

function areOrIs(count: number): string {
  return count === 1 ? 'is' : 'are';
}
