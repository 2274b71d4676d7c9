// Linear combination of tensors, with which every noise schedule updates latents.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf, type Strip } from './row-strips.ts';
import { walkers } from './walkers.ts';

/** Limit on the terms of one dispatch. */
const MOST_TERMS = 5;

/**
 * Σ coefficients[i] · terms[i]; terms of one shape, coefficients f32. `notFinite` (u32 [1]) becomes 1 if a value of the result is
 * not finite, and is unchanged otherwise.
 */
export function linearCombination(
  terms: readonly Tensor[],
  coefficients: Operand,
  notFinite: Operand,
): Tensor {
  const [model] = terms;
  if (!model || terms.some((term) => term.shape.join() !== model.shape.join()))
    throw new Error(
      `linearCombination: [${terms.map((term) => term.shape.join()).join('], [')}] must be terms of one shape`,
    );
  const tape = tapeOf(model);
  const y = tape.tensor(model.shape);
  const quads = model.stride / 4;
  for (const strip of stripsOf(tape, [model, y], Infinity)) {
    for (let first = 0; first < terms.length; first += MOST_TERMS) {
      const some = terms.slice(first, first + MOST_TERMS);
      tape.dispatch('linear-combination.wgsl', {
        params: { TERMS: some.length, CONTINUES: first > 0 },
        args: { quads: strip.count(tape.capacity) * quads, first },
        bind: { ...operands(some, strip, coefficients), coefficients, y: strip.of(y), not_finite: notFinite },
        groups: (sizes) => walkers(tape, strip.count(sizes) * quads),
      });
    }
  }
  return y;
}

/** Operands x0 to x4; those that are not read must be bound as well. */
function operands(terms: readonly Tensor[], strip: Strip, unread: Operand): Record<string, Operand> {
  return Object.fromEntries(
    Array.from({ length: MOST_TERMS }, (_, i) => {
      const term = terms[i];
      return [`x${i}`, term ? strip.of(term) : unread];
    }),
  );
}
