// Products of 512 rows on matrix units beside the same ones without them: times, and how far results differ.

import { Tape } from '../../dist/gpu/tape.js';
import { linear } from '../../dist/kernels/matmul.js';
import { matrixBytes } from './launches.mjs';

const ROWS = 512;
const FORMATS = ['f16', 'int4', 'q4_k', 'int8'];
/** Columns and k's: the hidden size of an 8B, and its feed-forward one. */
const SHAPES = [
  [4096, 4096],
  [28672, 4096],
];

/** Adds two rows for each product, the second with the difference of the results; none where kernels use no matrix unit. */
export async function compareMatrixProducts(launches, { shapes = SHAPES, formats = FORMATS } = {}) {
  const { device } = launches;
  const { matrixUnit } = device.capabilities;
  if (matrixUnit === null) return;
  for (const [columns, k] of shapes) {
    for (const format of formats) {
      const weight = launches.matrix(format, columns, k);
      const x = launches.tensor(['rows', k], { rows: ROWS });
      const results = [];
      for (const unit of [null, matrixUnit]) {
        device.capabilities.matrixUnit = unit;
        const name = `${columns} × ${k}, ${format}, rows: ${ROWS}, ${unit ? 'on' : 'without'} matrix units`;
        const description = { name, product: 'matrix units', format, rows: ROWS };
        try {
          results.push(await resultOf(device, x, weight));
          await launches.row(
            { ...description, ...(results.length === 2 && { difference: differenceOf(...results) }) },
            {
              capacity: { rows: ROWS },
              bytes: matrixBytes(weight) + 4 * ROWS * (k + columns),
              operations: 2 * ROWS * columns * k,
              record: (tape) => void linear(x.on(tape), weight),
            },
          );
        } catch (error) {
          await launches.fail(description, error);
        } finally {
          device.capabilities.matrixUnit = matrixUnit;
        }
      }
      launches.free(x);
      launches.freeMatrix(weight);
    }
  }
}

async function resultOf(device, x, weight) {
  const tape = new Tape(device, { rows: ROWS });
  const y = tape.keep(linear(x.on(tape), weight));
  tape.finish();
  tape.run({ rows: ROWS });
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
