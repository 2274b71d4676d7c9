// Attention over pages of keys and values, for single rows of several sequences and for a chunk of a prompt, behind contexts of several lengths.

import { attention } from '../../dist/kernels/attention.js';
import { PAGE_TOKENS, TILE_ROWS } from '../../dist/kernels/batch.js';
import { headBytes } from '../../dist/kernels/kv-format.js';

/** Heads of queries and of keys by their size. */
const SHAPES = [
  { dims: 128, heads: 32, kvHeads: 8 },
  { dims: 64, heads: 32, kvHeads: 8 },
  { dims: 256, heads: 16, kvHeads: 4 },
];
const CONTEXTS = [512, 4096, 32768];
/** Rows of a prompt's chunk. */
const CHUNK = 512;
/** Sequences that decode together, and their context. */
const SEQUENCES = 16;
const SHARED_CONTEXT = 4096;
/** Formats of keys and values other than f16, with which some of the steps are measured. */
const CODES = ['fp8_e4m3', 'int8', 'int4'];

export async function measureAttention(launches) {
  const { small } = launches;
  for (const shape of small ? [{ dims: 32, heads: 2, kvHeads: 1 }] : SHAPES) {
    for (const context of small ? [64] : CONTEXTS) {
      await measureOne(launches, shape, { context, rows: 1, sequences: 1 });
      await measurePrompt(launches, shape, {
        context,
        rows: Math.min(context, small ? 16 : CHUNK),
        sequences: 1,
      });
    }
    if (small) continue;
    const shared = { context: SHARED_CONTEXT, rows: 1, sequences: SEQUENCES };
    for (const format of ['f16', ...CODES]) await measureOne(launches, shape, { ...shared, format });
    const chunk = { context: SHARED_CONTEXT, rows: CHUNK, sequences: 1 };
    for (const format of CODES) await measurePrompt(launches, shape, { ...chunk, format });
  }
}

/** With the device's matrix units, if it has some, and without. */
async function measurePrompt(launches, shape, step) {
  await measureOne(launches, shape, step);
  if (launches.device.capabilities.matrixUnit === null) return;
  await launches.withoutMatrixUnits(() => measureOne(launches, shape, step, ', without matrix units'));
}

async function measureOne(launches, shape, { context, rows, sequences, format = 'f16' }, remark = '') {
  const { heads, kvHeads, dims } = shape;
  const pages = context / PAGE_TOKENS;
  const bytes = sequences * pages * kvHeads * headBytes(format, dims);
  const isDecode = rows === 1;
  const phase = isDecode ? `decode, sequences: ${sequences}` : `prefill, rows: ${rows}`;
  const stored = format === 'f16' ? '' : `, ${format}`;
  const name = `attention, heads of ${dims}, context ${context}, ${phase}${stored}${remark}`;
  const description = { name, kernel: 'attention', ...shape, context, rows, sequences, format };
  const tiles = [];
  for (let sequence = 0; sequence < sequences; sequence++)
    for (let at = 0; at < rows; at += TILE_ROWS)
      tiles.push([
        sequence * rows + at,
        Math.min(TILE_ROWS, rows - at),
        sequence * pages,
        context - rows + at,
        0,
      ]);
  const all = rows * sequences;
  const held = [];
  const take = (region) => {
    held.push(region);
    return region;
  };
  try {
    const table = {
      pages: take(launches.words(Uint32Array.from({ length: sequences * pages }, (_, i) => i))),
      places: take(launches.words(new Uint32Array(all))),
    };
    const batch = { tiles: take(launches.words(Uint32Array.from(tiles.flat()))), spans: false };
    const copies = isDecode ? launches.copies(2 * bytes) : 1;
    const stores = Array.from({ length: copies }, () => ({
      kind: 'kv',
      format,
      table,
      keys: take(launches.region(bytes, 'f16')),
      values: take(launches.region(bytes, 'f16')),
    }));
    const q = launches.tensor(['rows', heads * dims], { rows: all });
    take(q.region);
    const seen = sequences * sumOf(rows, (row) => context - rows + 1 + row);
    await launches.row(description, {
      capacity: { rows: all, tiles: tiles.length, tileRows: Math.min(rows, TILE_ROWS), contextPages: pages },
      isDecode,
      launches: stores.length,
      bytes: 2 * bytes + 2 * 4 * all * heads * dims,
      operations: 4 * seen * heads * dims,
      record(tape) {
        for (const kv of stores) attention(q.on(tape), batch, shape, kv, { window: null });
      },
    });
  } catch (error) {
    await launches.fail(description, error);
  }
  for (const { buffer } of held) launches.device.free(buffer);
}

function sumOf(count, valueOf) {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += valueOf(i);
  return sum;
}
