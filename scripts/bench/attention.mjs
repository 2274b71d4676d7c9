// Attention by each of its kernels that the adapter has: how long one attention of a DiT takes, in turns in one process, and how far the results
// are from those of plain kernels. Prints JSON.
//   node scripts/bench/attention.mjs [ROUNDS]

import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { Tape } from '../../dist/gpu/tape.js';
import { Tensor, tensorBytes } from '../../dist/gpu/tensor.js';
import { attend } from '../../dist/kernels/attend.js';
import { stopwatch } from './ceilings.mjs';

/** Some heads of an attention of FLUX.1 at 512² with its text, and of Wan 1.3B for a clip of 17 frames of 416 × 240. */
const TIMED = [
  { name: 'FLUX.1, 512²', rows: 1024 + 512, heads: 2, dims: 128 },
  { name: 'Wan 1.3B', rows: 5 * 15 * 26, heads: 2, dims: 128, grid: { frames: 5, rows: 15, columns: 26 } },
];
/** Numbers of keys, and their heads. */
const COMPARED = [64, 128].flatMap((dims) => [256, 1024, 4096].map((rows) => ({ rows, heads: 2, dims })));
const COMPARED_QUERIES = 256;
/** Keys are those of a normal distribution; or with an offset in each channel, of a normal distribution four times as wide. */
const OFFSETS = [0, 4];

const sparse = (of) => ({ kernels: 'sparse', sparsity: 0.5, window: null, ...of });
const CHOICES = [
  ['plain', { kernels: 'plain' }],
  ['flash', { kernels: 'flash' }],
  ['matrix', { kernels: 'matrix' }],
  ['sage', { kernels: 'sage' }],
  ['sparse, sparsity 0.5', sparse({})],
  ['sparse, sparsity 0.8', sparse({ sparsity: 0.8 })],
  ['sparse, window of 3, 9, 9', sparse({ window: [3, 9, 9] })],
];

const rounds = Number(process.argv[2] ?? 3);
throttlePolling();
const device = await openDevice();
const { matrixUnit, integerDots } = device.capabilities;
const lacks = { matrix: !matrixUnit, sage: !integerDots };
const choices = CHOICES.filter(([, { kernels }]) => !lacks[kernels]);

const times = [];
for (const shape of TIMED) times.push(await timed(shape));
const errors = [];
for (const shape of COMPARED) for (const offset of OFFSETS) errors.push(await compared(shape, offset));
device.destroy();
process.stdout.write(`${JSON.stringify({ times, errors }, null, 2)}\n`, () => process.exit());

/** The fastest of some rounds of each choice, in milliseconds by the clock and of idle cores (see stopwatch), and these as a ratio to flash. */
async function timed({ name, rows, heads, dims, grid }) {
  const operands = [1, 2, 3].map((seed) =>
    operandOf([1, rows, heads * dims], normals(seed, rows * heads * dims)),
  );
  const asked = choices.filter(([, { window }]) => !window || grid);
  const runs = asked.map(([choice, attention]) => ({
    choice,
    job: recorded(operands, { heads, dims, ...(grid && { grid }) }, attention),
    wall: Infinity,
    quiet: Infinity,
  }));
  for (let round = -1; round < rounds; round++) {
    for (const run of runs) {
      const { wall, quiet } = await stopwatch(run.job.run);
      // The first round compiles.
      if (round < 0) continue;
      Object.assign(run, { wall: Math.min(run.wall, wall), quiet: Math.min(run.quiet, quiet) });
    }
  }
  const flash = runs.find(({ choice }) => choice === 'flash');
  const results = runs.map(({ choice, wall, quiet }) => ({
    choice,
    wall,
    quiet,
    ofFlash: quiet / flash.quiet,
  }));
  release(operands, runs);
  return { name, rows, heads, dims, results };
}

/** For each choice that sees all keys: the largest difference from plain, and the root of the mean square, as shares of plain's. */
async function compared({ rows, heads, dims }, offset) {
  const width = heads * dims;
  const offsets = normals(4, width).map((value) => offset * value);
  const keys = normals(2, rows * width).map((value, i) => value + offsets[i % width]);
  const operands = [
    operandOf([1, COMPARED_QUERIES, width], normals(1, COMPARED_QUERIES * width)),
    operandOf([1, rows, width], keys),
    operandOf([1, rows, width], normals(3, rows * width)),
  ];
  const asked = choices.filter(([, { kernels }]) => kernels !== 'sparse');
  const runs = asked.map(([choice, attention]) => ({
    choice,
    job: recorded(operands, { heads, dims }, attention),
  }));
  const results = [];
  for (const { choice, job } of runs) {
    await job.run();
    results.push({ choice, values: new Float32Array(await device.read(job.y)) });
  }
  release(operands, runs);
  const [{ values: wanted }, ...others] = results;
  const size = rootOf(wanted);
  return {
    ...{ keys: rows, dims, offset },
    errors: others.map(({ choice, values }) => {
      const apart = values.map((value, i) => value - wanted[i]);
      const largest = apart.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      return { choice, rootMeanSquare: rootOf(apart) / size, largest: largest / size };
    }),
  };
}

function recorded([q, k, v], shape, attention) {
  const tape = new Tape(device, {}, { attention });
  const [queries, keys, values] = [q, k, v].map((x) => ({ x: x.on(tape), first: 0 }));
  const y = tape.keep(attend(queries, keys, values, shape));
  tape.finish();
  device.arena.settle();
  return {
    y: tape.region(y),
    async run() {
      tape.run({});
      await device.gpu.queue.onSubmittedWorkDone();
    },
    release: () => tape.destroy(),
  };
}

function operandOf(shape, values) {
  const size = tensorBytes(shape, {});
  const buffer = device.allocate('step', 'operand', size);
  device.gpu.queue.writeBuffer(buffer, 0, values);
  return new Tensor(shape, 'f32', { region: { buffer, offset: 0, size } });
}

function release(operands, runs) {
  for (const { job } of runs) job.release();
  for (const { region } of operands) device.free(region.buffer);
}

function rootOf(values) {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

/** Values of a normal distribution, the same for a seed. */
function normals(seed, count) {
  let state = seed << 24;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32;
  };
  return Float32Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  );
}
