// Refuses checkpoints with invalid values: NaN, infinity and huge magnitudes produce output that looks plausible.

import { countText } from '../../files/count-text.ts';
import { badCheckpoint } from '../../files/error.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { sourceOf, storedBlock } from '../../kernels/formats.ts';
import type { ValueCounts } from '../../kernels/check-values.ts';

export interface CheckedTensor {
  entry: TensorEntry;
  counts: ValueCounts;
}

/** Throws bad_checkpoint for the first tensor with such values, with the file, the tensor and the count. */
export function refuseDamaged(
  entries: readonly TensorEntry[],
  counts: readonly Omit<ValueCounts, 'isZero'>[],
): void {
  const damaged = entries.flatMap((entry, i) => {
    const { nonFinite, oversize } = counts[i]!;
    return nonFinite + oversize > 0 ? [{ entry, nonFinite, oversize }] : [];
  });
  const [first] = damaged;
  if (!first) return;
  const { entry, nonFinite, oversize } = first;
  const { noun, total } = checkedOf(entry);
  const problems = [
    ...(nonFinite > 0 ? [`${countText(nonFinite, noun)} that ${areOrIs(nonFinite)} NaN or infinite`] : []),
    ...(oversize > 0 ? [`${countText(oversize, 'value')} of a magnitude above 1.8e19`] : []),
  ];
  const others = damaged.length === 1 ? '' : ` (and ${countText(damaged.length - 1, 'more tensor')})`;
  throw badCheckpoint(
    `tensor ${entry.storedAs ?? entry.name} of ${entry.source.name}${others} has ${problems.join(' and ')} among its ${total}: ` +
      'fetch the file again, or choose another checkpoint if it was published so',
    entry.name,
  );
}

/** The noun for what is checked in a tensor, and its count: values, or the scales of blocks of codes. */
function checkedOf({ dtype, shape }: TensorEntry): { noun: string; total: number } {
  const values = shape.reduce((product, extent) => product * extent, 1);
  const source = sourceOf(dtype);
  const stored = source === undefined ? null : storedBlock(source);
  if (!stored || stored.scaleType === 'tensor') return { noun: 'value', total: values };
  return { noun: 'scale', total: (values / stored.values) * stored.scalesAt.length };
}

/** Share of zero values at the end of a file from which the file is considered truncated and padded. */
const MOST_ZEROS = 1 / 8;

/**
 * Throws bad_checkpoint if several last tensors of a file are entirely zero and make up a large share of it. Single tensors of
 * zeros are accepted, because layers may be added to a trained model with zeros as their output.
 */
export function refuseZeroTail(checked: readonly CheckedTensor[]): void {
  for (const source of new Set(checked.map(({ entry }) => entry.source))) {
    const inOrder = checked
      .filter(({ entry }) => entry.source === source)
      .sort((a, b) => a.entry.offset - b.entry.offset);
    const zeros = inOrder.slice(inOrder.findLastIndex(({ counts }) => !counts.isZero) + 1);
    const share = bytesOf(zeros) / bytesOf(inOrder);
    if (zeros.length < 2 || share < MOST_ZEROS) continue;
    const { name: page, storedAs: name = page } = zeros[0]!.entry;
    throw badCheckpoint(
      `${source.name} holds only zeros from tensor ${name} on, ${Math.round(100 * share)} % of what is read of it: fetch the file again`,
      name,
    );
  }
}

function bytesOf(tensors: readonly CheckedTensor[]): number {
  return tensors.reduce((sum, { entry }) => sum + entry.bytes, 0);
}

function areOrIs(count: number): string {
  return count === 1 ? 'is' : 'are';
}
