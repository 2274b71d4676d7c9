// The vision tower of PaddleOCR-VL: patches of an image in a size near its own pass SigLIP's layers, which know places by learned positions and by
// rotation; the patches of a cell are merged into one row for the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import { patchify } from '../../../kernels/patchify.ts';
import { affine } from '../../affine.ts';
import type { Tower } from '../../media.ts';
import type { WeightTable } from '../../weights.ts';
import type { PaddleVisionConfig } from './paddleocr-vl-config.ts';
import { siglipLayers } from '../siglip.ts';

const NAME = 'visual.vision_model.';
/** As published, and of transformers 5. */
const PROJECTORS = ['mlp_AR', 'projector'] as const;
/** Of the norm before cells are merged. */
const EPS = 1e-5;

/** Rows and columns of an image, in patches. */
export interface PaddleGrid {
  rows: number;
  columns: number;
}

/**
 * Inputs: `patches` [1, patches, 1, 3 · patch²] row by row, `rotations` [patches, dims], `sources` u32 and `shares` f32 [patches, taps]; the layout
 * is a PaddleGrid. → rows cell by cell, [1, cells, out]
 */
export function paddleVision(config: PaddleVisionConfig, weights: WeightTable): Tower {
  const { hidden, patch, places, merge, out } = config;
  const embed = weights.matrix(`${NAME}embeddings.patch_embedding.weight`, hidden, 3 * patch ** 2, {
    stored: [3, patch, patch],
    bias: true,
  });
  const table = weights.table(`${NAME}embeddings.position_embedding.weight`, places ** 2, hidden);
  const encode = siglipLayers(config, weights, NAME);
  const name = PROJECTORS.find((one) => weights.has(`${one}.linear_1.weight`)) ?? PROJECTORS[0];
  const norm = affine(weights, `${name}.pre_norm`, hidden);
  const cell = merge ** 2 * hidden;
  const first = weights.matrix(`${name}.linear_1.weight`, cell, cell, { bias: true });
  const second = weights.matrix(`${name}.linear_2.weight`, out, cell, { bias: true });
  // Published files have a head that pools and a table for other inputs, which nothing reads.
  weights.ignore(/^visual\.vision_model\.(head\.|embeddings\.packing_position_embedding\.)/);

  return (inputs, layout) => {
    const { patches, rotations, sources, shares } = inputs as Record<string, Tensor>;
    const { rows, columns } = layout as PaddleGrid;
    const positions = mixRows(table.on(patches!.tape!), sources!, shares!);
    const shape = [1, rows * columns];
    const embedded = linearAdd(takeRows(patches!, 0, shape), embed, takeRows(positions, 0, shape));
    const states = layernorm(encode(embedded, rotations), norm, EPS); // [1, patches, hidden]
    const cells = patchify(takeRows(states, 0, [1, rows, columns]), { size: merge, order: 'pqc' });
    return [linear(linear(cells, first, { activation: 'gelu' }), second)];
  };
}
