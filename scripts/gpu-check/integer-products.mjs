// Products of activations in 8 bits beside the same ones of floats: the widest of a layer, for steps of few and of many rows. Prompts are measured
// without matrix units, on which they are not computed in 8 bits.

import { linear } from '../../dist/kernels/matmul.js';
import { measureProduct, MODELS } from './products.mjs';

const FORMATS = ['int4', 'q4_k', 'q6_k', 'int8'];
const { hidden, ffn } = MODELS['8B'];
const SHAPE = { columns: 2 * ffn, k: hidden };
const SMALL = { columns: 192, k: 256 };

/** None where kernels cannot multiply integers. */
export async function compareIntegerProducts(launches) {
  const { capabilities, profile } = launches.device;
  if (profile.matvecRows === null || !capabilities.integerDots) return;
  await launches.withoutMatrixUnits(async () => {
    for (const format of launches.small ? FORMATS.slice(0, 1) : FORMATS) {
      for (const activations of ['float', 'int8']) {
        const shape = launches.small ? SMALL : SHAPE;
        const product = { name: `activations in ${activations}`, ...shape, launch: linear, activations };
        await measureProduct(launches, '8B', product, format);
      }
    }
  });
}
