// NVFP4 as ModelOpt and compressed-tensors publish it: the goldens of scripts/reference/nvfp4_weights.py.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { foldCoded } from '../../../src/files/coded/fold.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { openCodedGolden } from '../../files/coded/coded-golden.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { columnsOf } from '../../kernels/stored.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const golden = await openCodedGolden('nvfp4-weights');
const MODELOPT = { quant_method: 'modelopt', quant_algo: 'NVFP4' };
const weights = { type: 'float', num_bits: 4, group_size: 16, strategy: 'tensor_group' };
const COMPRESSED = {
  quant_method: 'compressed-tensors',
  config_groups: { g: { format: 'nvfp4-pack-quantized', targets: ['Linear'], weights } },
};

/** A case's module under another name, folded. */
function folded(of: string, as = 'w'): Map<string, TensorEntry> {
  const { tensors } = golden(of);
  const named = [...tensors.values()].map((entry): [string, TensorEntry] => {
    const name = as + entry.name.slice(1);
    return [name, { ...entry, name }];
  });
  const settings = of.startsWith('compressed') ? COMPRESSED : MODELOPT;
  return foldCoded(new Map(named), { method: settings.quant_method, settings });
}

async function load(
  tensors: Map<string, TensorEntry>,
  page: (table: WeightTable) => Matrix,
): Promise<Matrix> {
  const before = device.memoryUsed;
  const opened = openWeights(device, tensors, page, { format: null });
  expect(device.memoryUsed - before).toBe(opened.plan.bytes);
  await opened.load();
  return opened.page;
}

/** Each column is a row of one of the cases. `places`: the case and the row of a column; units in the last place that a value may be off. */
async function expectRows(
  matrix: Matrix,
  places: (column: number) => [of: string, row: number],
  units: number,
): Promise<void> {
  const columns = await columnsOf(device, matrix);
  expect(columns.length).toBe(matrix.columns);
  const wrong = columns.flatMap((column, at) => {
    const [of, row] = places(at);
    const { values, k } = golden(of);
    return [...column].filter((value, i) => {
      const wanted = values[row * k + i]!;
      return !(Math.abs(value - wanted) <= units * 2 ** -23 * Math.abs(wanted));
    });
  });
  expect(wrong).toEqual([]);
}

describe('values are those of the methods themselves', () => {
  it.each([
    ['modelopt', 'nvfp4_256', 0],
    ['modeloptrows', 'nvfp4_64', 0],
    // One divided by the factor is rounded.
    ['compressed', 'nvfp4_256', 2],
    ['compressedrows', 'nvfp4_64', 2],
  ])('%s', async (of, format, units) => {
    const tensors = folded(of);
    expect([...tensors.keys()]).toEqual(['w.weight']);
    const { rows, k } = golden(of);
    const matrix = await load(tensors, (table) => table.matrix('w.weight', rows, k));
    expect(matrix.formats.map(({ name }) => name)).toEqual([format]);
    await expectRows(matrix, (row) => [of, row], units);
  });
});

it('parts of one matrix keep factors of their own', async () => {
  const [first, second] = ['modeloptrows', 'modeloptrows2'];
  const tensors = new Map([...folded(first, 'q'), ...folded(second, 'k')]);
  const { rows, k } = golden(first);
  const parts = ['q', 'k'].map((name) => ({ name: `${name}.weight`, rows }));
  const matrix = await load(tensors, (table) => table.stacked(parts, k));
  await expectRows(matrix, (column) => (column < rows ? [first, column] : [second, column - rows]), 0);
});

it('gate and up of an expert keep factors of their own', async () => {
  const [gate, up] = ['modeloptrows', 'modeloptrows2'];
  const tensors = new Map([...folded(gate, 'gate'), ...folded(up, 'up')]);
  const { rows, k } = golden(gate);
  const pair = { gate: 'gate.weight', up: 'up.weight' };
  const matrix = await load(tensors, (table) => table.expertGateUps([pair], rows, k));
  const found = new Set((await columnsOf(device, matrix)).map((column) => column.join()));
  const wanted = [gate, up].flatMap((of) =>
    Array.from({ length: rows }, (_, row) =>
      golden(of)
        .values.subarray(row * k, (row + 1) * k)
        .join(),
    ),
  );
  expect(found).toEqual(new Set(wanted));
});
