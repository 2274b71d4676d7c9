// Embeds texts of a fixed number of tokens: rows of the embedding matrix, with learned positions.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Places } from './embed.ts';
import { weightOperands, type Matrix } from './matrix.ts';

const WORKGROUP = 32;

/** ids u32 [items, tokens] → [items, tokens, k] */
export function embedTokens(tape: Tape, ids: Tensor, weight: Matrix, places: Places | null): Tensor {
  const [items, tokens] = ids.shape;
  if (typeof items !== 'number' || typeof tokens !== 'number')
    throw new Error(`embedTokens: ids of [${ids.shape.join(', ')}] are not texts of fixed length`);
  const { positions, first = 0, types } = places ?? {};
  if (positions && (positions.columns !== weight.k || positions.rows({}) < first + tokens))
    throw new Error(
      `embedTokens: positions of [${positions.shape.join(', ')}] for ${tokens} tokens of ${weight.k}`,
    );
  const y = tape.tensor([items, tokens, weight.k]);
  for (const window of weight.windows) {
    tape.dispatch('embed-tokens.wgsl', {
      params: { W: window.format.name, PLACES: types ? 'typed' : positions ? 'learned' : 'none' },
      args: {
        tokens,
        ids_stride: ids.stride,
        y_quads: y.stride / 4,
        blocks: weight.blocks,
        first_group: window.firstGroup,
        groups: window.groups,
        first_place: first,
      },
      bind: {
        ids,
        ...weightOperands(tape.device, window),
        y,
        ...(positions ? { positions } : {}),
        ...(types ? { types } : {}),
      },
      groups: () => [Math.ceil((weight.blocks * 32) / window.format.step / WORKGROUP), items * tokens],
    });
  }
  return y;
}
