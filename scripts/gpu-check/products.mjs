// Products with weights: the four of a layer and the head, in the widths of published models, for steps of few and of many rows.

import { interleaved } from '../../dist/kernels/matrix.js';
import { linear, linearAdd, linearSwiglu } from '../../dist/kernels/matmul.js';
import { normed, rowsOf } from '../../dist/kernels/normed.js';
import { matrixBytes } from './launches.mjs';

/** Llama 3.1 8B, 3.2 3B and 1B. */
export const MODELS = {
  '8B': { hidden: 4096, ffn: 14336, heads: 32, kvHeads: 8, dims: 128, vocabulary: 128256 },
  '3B': { hidden: 3072, ffn: 8192, heads: 24, kvHeads: 8, dims: 128, vocabulary: 128256 },
  '1B': { hidden: 2048, ffn: 8192, heads: 32, kvHeads: 8, dims: 64, vocabulary: 128256 },
};
const TINY = { hidden: 64, ffn: 96, heads: 2, kvHeads: 1, dims: 32, vocabulary: 128 };
const FORMATS = ['f16', 'int4', 'q4_k', 'int8', 'q8_0', 'mxfp4'];
/** Rows of decode steps, and of a prompt. */
const STEPS = [
  { rows: 1, isDecode: true },
  { rows: 4, isDecode: true },
  { rows: 16, isDecode: true },
  { rows: 512, isDecode: false },
];
/** Many decode rows in slices, and in the tiles of prompts that a model without batch invariance may use: kernels/decode-products.ts. */
const COMPARED = { rows: 64, model: '8B', formats: ['f16', 'int4'] };
/** Rows from which a product is bound by arithmetic, so that its weights may lie in a cache. */
const MANY_ROWS = 128;
const EPS = 1e-5;
/** Formats in which a product that norms its rows is compared with one whose rows were normed before. */
const NORMED_FORMATS = ['f16', 'int4'];

export async function measureProducts(launches, model) {
  const { small } = launches;
  const shape = small ? TINY : MODELS[model];
  for (const product of productsOf(shape)) {
    for (const format of small ? NORMED_FORMATS : (product.formats ?? FORMATS))
      await measureProduct(launches, small ? 'tiny' : model, product, format);
  }
}

/** Name, columns, k and launcher; the head is computed for rows that are sampled, so it has no prompts. */
function productsOf({ hidden, ffn, heads, kvHeads, dims, vocabulary }) {
  const adds = (x, weight, residual) => linearAdd(x, weight, residual);
  return [
    { name: 'gate-up', columns: 2 * ffn, k: hidden, launch: linearSwiglu, isPaired: true },
    {
      name: 'gate-up that norms its rows',
      ...{ columns: 2 * ffn, k: hidden, isPaired: true, formats: NORMED_FORMATS, mostRows: 16 },
      launch: (x, weight, residual, gain) => linearSwiglu(normed(x, gain, EPS), weight),
    },
    {
      name: 'norm, then gate-up',
      ...{ columns: 2 * ffn, k: hidden, isPaired: true, formats: NORMED_FORMATS, mostRows: 16 },
      launch: (x, weight, residual, gain) => linearSwiglu(rowsOf(normed(x, gain, EPS)), weight),
    },
    { name: 'down', columns: hidden, k: ffn, launch: adds },
    {
      name: 'qkv',
      columns: (heads + 2 * kvHeads) * dims,
      k: hidden,
      launch: (x, weight) => linear(x, weight),
    },
    { name: 'out', columns: hidden, k: heads * dims, launch: adds },
    { name: 'head', columns: vocabulary, k: hidden, launch: (x, weight) => linear(x, weight), mostRows: 16 },
  ];
}

function stepsOf(small, model, format, mostRows) {
  if (small) return STEPS.filter(({ rows }) => rows === 1 || rows === 16);
  const isCompared =
    model === COMPARED.model && mostRows > COMPARED.rows && COMPARED.formats.includes(format);
  const { rows } = COMPARED;
  const compared = [true, false].map((isDecode) => ({ rows, isDecode }));
  return [...STEPS.filter((step) => step.rows <= mostRows), ...(isCompared ? compared : [])];
}

export async function measureProduct(
  launches,
  model,
  { name, columns, k, launch, isPaired, mostRows = 512, activations = 'float' },
  format,
) {
  const parts = isPaired ? { parts: interleaved('gate', 'up', columns / 2) } : {};
  const weights = [];
  try {
    weights.push(launches.matrix(format, columns, k, parts));
    const bytes = matrixBytes(weights[0]);
    while (weights.length < launches.copies(bytes)) weights.push(launches.matrix(format, columns, k, parts));
    for (const { rows, isDecode } of stepsOf(launches.small, model, format, mostRows)) {
      const taken = rows < MANY_ROWS ? weights : weights.slice(0, 1);
      const x = launches.tensor(['rows', k], { rows });
      const residual = launches.tensor(['rows', columns], { rows });
      const gain = launches.tensor([k]);
      await launches.row(
        {
          name: `${model} ${name}, ${columns} × ${k}, ${format}, ${isDecode && rows > 16 ? 'decode rows' : 'rows'}: ${rows}`,
          model,
          product: name,
          format,
          rows,
        },
        {
          capacity: { rows },
          isDecode,
          activations,
          launches: taken.length,
          bytes: bytes + 4 * rows * (k + columns),
          operations: 2 * rows * columns * k,
          record(tape) {
            for (const weight of taken) launch(x.on(tape), weight, residual.on(tape), gain);
          },
        },
      );
      launches.free(x);
      launches.free(residual);
      launches.free(gain);
    }
  } catch (error) {
    await launches.fail(
      { name: `${model} ${name}, ${columns} × ${k}, ${format}`, model, product: name, format },
      error,
    );
  }
  for (const weight of weights) launches.freeMatrix(weight);
}
