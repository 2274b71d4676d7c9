// Rows of the embedding matrix, or of embeddings that another model computed, with learned positions if a model has them.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';
import { weightOperands, type Matrix } from './matrix.ts';

const WORKGROUP = 32;

/** Learned rows that are added to a token's embedding. */
export interface Places {
  /** [at least first + positions, k]; left out: none are added. */
  positions?: Tensor;
  /** Row of `positions` for a text's first token. */
  first?: number;
  /** [types, k]: the row of a token's type is added. */
  types?: Tensor;
}

export interface EmbedOptions {
  /** Factor on rows of the matrix; input embeddings are not scaled. */
  scale?: number;
  places?: Places | null;
  /**
   * The token whose row of the matrix stands for an input embedding, and for tokens that it has no row of; left out: input embeddings stand for
   * themselves, and such tokens get row 0.
   */
  inputToken?: number;
}

function placesVariant(places: Places | null): string {
  if (!places?.positions) return places?.types ? 'types' : 'none';
  return places.types ? 'typed' : 'learned';
}

/**
 * y[row] = W[token of the row] · scale, or the row's input embedding, plus its position; → [rows, k]. A row may take the last token
 * of a slot without a round trip to the CPU.
 */
export function embed(
  tape: Tape,
  batch: TextBatch,
  weight: Matrix,
  { scale = 1, places = null, inputToken }: EmbedOptions = {},
): Tensor {
  const y = tape.tensor(['rows', weight.k]);
  const { positions, first = 0, types } = places ?? {};
  const inputs = inputToken === undefined ? batch.inputs : null;
  if (positions && positions.columns !== weight.k)
    throw new Error(`embed: positions of [${positions.shape.join(', ')}] for tokens of ${weight.k}`);
  for (const window of weight.windows) {
    tape.dispatch('embed.wgsl', {
      params: {
        W: window.format.name,
        INPUTS: inputs ? 'rows' : 'none',
        PLACES: placesVariant(places),
      },
      args: {
        y_quads: y.stride / 4,
        blocks: weight.blocks,
        first_group: window.firstGroup,
        groups: window.groups,
        scale,
        first_place: first,
        input_token: inputToken ?? 0,
        tokens: weight.columns,
      },
      bind: {
        rows: batch.rows,
        sampled: batch.sampled,
        ...weightOperands(tape.device, window),
        y,
        ...(inputs ? { inputs } : {}),
        ...(positions ? { positions } : {}),
        ...(types ? { types } : {}),
      },
      groups: (sizes) => [Math.ceil((weight.blocks * 32) / window.format.step / WORKGROUP), y.rows(sizes)],
    });
  }
  return y;
}
