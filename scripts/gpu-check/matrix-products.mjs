// Products of 512 rows, convolutions and attention of images on matrix units, beside the same ones without them: times, and how far results differ.

import { Tape } from '../../dist/gpu/tape.js';
import { attend } from '../../dist/kernels/attend.js';
import { conv2d } from '../../dist/kernels/conv2d.js';
import { stacked } from '../../dist/kernels/matrix.js';
import { linear } from '../../dist/kernels/matmul.js';
import { matrixBytes } from './launches.mjs';

const ROWS = 512;
const FORMATS = ['f16', 'int4', 'q4_k', 'int8'];
/** Columns and k's: the hidden size of an 8B, and its feed-forward one. */
const SHAPES = [
  [4096, 4096],
  [28672, 4096],
];
/** Channels, side and kernel of convolutions of Stable Diffusion XL and of its autoencoder. */
const CONVOLUTIONS = [
  [640, 64, 3],
  [1280, 32, 3],
  [640, 64, 1],
  [256, 512, 3],
];

/** Heads of Stable Diffusion XL and of FLUX.1. */
const ATTENTIONS = [
  { queries: 4096, keys: 4096, heads: 10, dims: 64 },
  { queries: 4608, keys: 4608, heads: 24, dims: 128 },
];

/** Adds two rows for each product, the second with the difference of the results; none where kernels use no matrix unit. */
export async function compareMatrixProducts(launches, { shapes = SHAPES, formats = FORMATS } = {}) {
  if (launches.device.capabilities.matrixUnit === null) return;
  for (const [columns, k] of shapes) {
    for (const format of formats) {
      const weight = launches.matrix(format, columns, k);
      const x = launches.tensor(['rows', k], { rows: ROWS });
      await compareUnits(launches, {
        name: `${columns} × ${k}, ${format}, rows: ${ROWS}`,
        description: { product: 'matrix units', format, rows: ROWS },
        capacity: { rows: ROWS },
        bytes: matrixBytes(weight) + 4 * ROWS * (k + columns),
        operations: 2 * ROWS * columns * k,
        record: (tape) => linear(x.on(tape), weight),
      });
      launches.free(x);
      launches.freeMatrix(weight);
    }
  }
}

/** The same for convolutions of f16 weights with as many channels as they make. */
export async function compareMatrixConvolutions(launches, shapes = CONVOLUTIONS) {
  if (launches.device.capabilities.matrixUnit === null) return;
  for (const [channels, side, kernel] of shapes) {
    const parts = stacked([{ name: 'w', rows: channels }]);
    const weight = launches.matrix('f16', channels, channels, { parts, kernel });
    const x = launches.tensor([1, side, side, channels]);
    await compareUnits(launches, {
      name: `convolution ${kernel} × ${kernel}, ${channels} at ${side}², f16`,
      description: { kernel: 'conv2d', product: 'matrix units', format: 'f16', channels, side },
      capacity: {},
      bytes: matrixBytes(weight) + 2 * 4 * side * side * channels,
      operations: 2 * kernel * kernel * side * side * channels * channels,
      record: (tape) => conv2d(x.on(tape), weight),
    });
    launches.free(x);
    launches.freeMatrix(weight);
  }
}

/** The same for attention of images. */
export async function compareMatrixAttention(launches, shapes = ATTENTIONS) {
  if (launches.device.capabilities.matrixUnit === null) return;
  for (const { queries, keys, heads, dims } of shapes) {
    const inputs = [queries, keys, keys].map((rows) => launches.tensor([1, rows, heads * dims]));
    await compareUnits(launches, {
      name: `attend, ${queries} × ${keys}, ${heads} heads of ${dims}`,
      description: { kernel: 'attend', product: 'matrix units', queries, keys, heads, dims },
      capacity: {},
      bytes: 4 * heads * dims * (2 * queries + 2 * keys),
      operations: 4 * queries * keys * heads * dims,
      record: (tape) => attend(...inputs.map((x) => ({ x: x.on(tape), first: 0 })), { heads, dims }),
    });
    for (const tensor of inputs) launches.free(tensor);
  }
}

/** Adds the row of a launch without matrix units, and that with them. */
async function compareUnits(launches, { name, description, capacity, bytes, operations, record }) {
  const { device } = launches;
  const { matrixUnit } = device.capabilities;
  const results = [];
  for (const unit of [null, matrixUnit]) {
    device.capabilities.matrixUnit = unit;
    const row = { name: `${name}, ${unit ? 'on' : 'without'} matrix units`, ...description };
    try {
      results.push(await resultOf(device, capacity, record));
      await launches.row(
        { ...row, ...(results.length === 2 && { difference: differenceOf(...results) }) },
        { capacity, bytes, operations, record: (tape) => void record(tape) },
      );
    } catch (error) {
      await launches.fail(row, error);
    } finally {
      device.capabilities.matrixUnit = matrixUnit;
    }
  }
}

async function resultOf(device, capacity, record) {
  const tape = new Tape(device, capacity);
  const y = tape.keep(record(tape));
  tape.finish();
  tape.run(capacity);
  const values = new Float32Array(await device.read(tape.region(y)));
  tape.destroy();
  return values;
}

/** The largest difference as a share of the root of the mean square; x and weights rounded to f16 make about 0.001. */
export function differenceOf(exact, rounded) {
  let [squares, worst] = [0, 0];
  exact.forEach((value, i) => {
    const difference = Math.abs(value - rounded[i]);
    squares += value * value;
    worst = difference <= worst ? worst : Number.isNaN(difference) ? Infinity : difference;
  });
  return worst / Math.sqrt(squares / exact.length);
}
