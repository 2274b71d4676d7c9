// Paged attention, and the write of keys and values before it, in each format of the KV cache: how long they take with a context of so many
// tokens, in turns in one process, and the bytes of a token. Prints JSON.
//   node scripts/bench/kv.mjs [TOKENS] [ROUNDS] [FORMAT,…]

import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { Tape } from '../../dist/gpu/tape.js';
import { Tensor, tensorBytes } from '../../dist/gpu/tensor.js';
import { attention } from '../../dist/kernels/attention.js';
import { PAGE_TOKENS, TILE_ROWS, partialBatch } from '../../dist/kernels/batch.js';
import { headBytes } from '../../dist/kernels/kv-format.js';
import { ropeKv } from '../../dist/kernels/rope-kv.js';
import { KV_CACHE_FORMATS } from '../../dist/options/model.js';
import { stopwatch } from './ceilings.mjs';

/** Heads of Qwen3 4B on a quarter of its key heads, and those of the shipped chat model. */
const SHAPES = [
  { heads: 8, kvHeads: 2, dims: 128 },
  { heads: 4, kvHeads: 2, dims: 64 },
];
/** Rows of a step after prompts, and of a prompt. */
const ROWS = [1, 64];
/** Replays of a turn. */
const REPLAYS = 8;

const tokens = Number(process.argv[2] ?? 4096);
const rounds = Number(process.argv[3] ?? 5);
const formats = process.argv[4]?.split(',') ?? KV_CACHE_FORMATS;
throttlePolling();
const device = await openDevice();
const results = [];
for (const shape of SHAPES) for (const rows of ROWS) results.push(await timed(shape, rows));
device.destroy();
process.stdout.write(`${JSON.stringify(results, null, 2)}\n`, () => process.exit());

async function timed(shape, rows) {
  const runs = formats.flatMap((format) => {
    const stored = storedPages(shape, format);
    return ['attention', 'ropeKv'].map((kernel) => ({
      ...{ format, kernel, quiet: Infinity },
      job: recorded(shape, rows, stored, kernel),
    }));
  });
  for (let round = -1; round < rounds; round++) {
    for (const run of runs) {
      const { quiet } = await stopwatch(run.job);
      // The first round compiles.
      if (round >= 0) run.quiet = Math.min(run.quiet, quiet / REPLAYS);
    }
  }
  const base = (kernel) => runs.find((run) => run.kernel === kernel).quiet;
  const { kvHeads, dims } = shape;
  return {
    ...{ ...shape, rows, tokens },
    results: runs.map(({ format, kernel, quiet }) => ({
      ...{ format, kernel, milliseconds: quiet, [`of ${formats[0]}`]: quiet / base(kernel) },
      tokenBytes: (2 * kvHeads * headBytes(format, dims)) / PAGE_TOKENS,
    })),
  };
}

/** Pages of a context with keys and values of one code, and tables of a step at its end. */
function storedPages({ kvHeads, dims }, format) {
  const pages = Math.ceil(tokens / PAGE_TOKENS);
  const words = new Uint32Array((pages * kvHeads * headBytes(format, dims)) / 4).fill(0x38003800);
  return { format, keys: regionOf(words), values: regionOf(words), pages };
}

function recorded(shape, rows, { format, keys, values, pages }, kernel) {
  const { heads, kvHeads, dims } = shape;
  const first = tokens - rows;
  const tileRows = Math.min(rows, TILE_ROWS);
  const tiles = Array.from({ length: rows / tileRows }, (_, i) => [
    ...[i * tileRows, tileRows, 0, first + i * tileRows, 0],
  ]);
  const places = Array.from({ length: rows }, (_, i) => first + i);
  const table = {
    pages: regionOf(Uint32Array.from({ length: pages }, (_, i) => i)),
    places: regionOf(Uint32Array.from(places)),
  };
  const kv = { kind: 'kv', table, format, keys, values };
  const batch = partialBatch(regionOf(new Uint32Array(4)), {
    tiles: regionOf(Uint32Array.from(tiles.flat())),
  });
  const sizes = { rows, tiles: tiles.length, tileRows, contextPages: pages };
  const tape = new Tape(device, sizes, { decodes: rows === 1 ? ['rows'] : [] });
  const input = (columns) => {
    const shapeOf = ['rows', columns];
    const values = Float32Array.from({ length: rows * columns }, (_, i) => ((i * 37) % 64) / 64 - 0.5);
    const region = regionOf(values, tensorBytes(shapeOf, sizes));
    return new Tensor(shapeOf, 'f32', { region, tape });
  };
  const y =
    kernel === 'attention'
      ? attention(input(heads * dims), batch, shape, kv, { window: null })
      : ropeKv(input((heads + 2 * kvHeads) * dims), input(dims), shape, kv, null);
  tape.keep(y);
  tape.finish();
  device.arena.settle();
  return async () => {
    for (let i = 0; i < REPLAYS; i++) tape.run(sizes);
    await device.gpu.queue.onSubmittedWorkDone();
  };
}

function regionOf(data, size = data.byteLength) {
  const buffer = device.allocate('step', 'data', size);
  device.gpu.queue.writeBuffer(buffer, 0, data);
  return { buffer, offset: 0, size };
}
