// The largest kernels of image models: convolutions of Stable Diffusion XL, and attention of it and of FLUX.1.

import { attend } from '../../dist/kernels/attend.js';
import { conv2d } from '../../dist/kernels/conv2d.js';
import { stacked } from '../../dist/kernels/matrix.js';
import { normConv } from '../../dist/kernels/norm-conv.js';
import { matrixBytes } from './launches.mjs';

const CONVOLUTIONS = [
  { channels: 320, side: 128 },
  { channels: 640, side: 64 },
  { channels: 1280, side: 32 },
  { channels: 640, side: 64, isNormed: true },
];
const TINY_CONVOLUTIONS = [false, true].map((isNormed) => ({ channels: 32, side: 4, isNormed }));
const NORM = { groups: 32, eps: 1e-5, silu: true };
const ATTENTIONS = [
  { name: 'SDXL 64²', queries: 4096, keys: 4096, heads: 10, dims: 64 },
  { name: 'SDXL 64² with its text', queries: 4096, keys: 77, heads: 10, dims: 64 },
  { name: 'FLUX 1024²', queries: 4608, keys: 4608, heads: 24, dims: 128 },
];
const TINY_ATTENTION = { name: 'tiny', queries: 16, keys: 16, heads: 1, dims: 32 };

/** Kernels that a user may choose (gpu/tape-options.ts) beside those that are taken. */
const CHOICES = [
  { name: 'queries and keys in 8 bits', attention: { kernels: 'sage' } },
  { name: 'half of the keys', attention: { kernels: 'sparse', sparsity: 0.5, window: null } },
];

export async function measureImageKernels(launches) {
  const { small } = launches;
  for (const shape of small ? TINY_CONVOLUTIONS : CONVOLUTIONS) await measureConvolution(launches, shape);
  for (const shape of small ? [TINY_ATTENTION] : ATTENTIONS) {
    await measureAttend(launches, shape);
    if (shape.queries === shape.keys)
      for (const choice of CHOICES) await measureAttend(launches, shape, choice);
  }
}

async function measureConvolution(launches, { channels, side, isNormed = false }) {
  const { winograd } = launches.device.profile;
  const description = {
    name: `convolution 3 × 3, ${channels} at ${side}², f16${isNormed ? ', after a norm' : ''}`,
    kernel: 'conv2d',
    channels,
    side,
  };
  try {
    const parts = stacked([{ name: 'w', rows: channels }]);
    const format = winograd ? 'f32' : 'f16';
    const weight = launches.matrix(format, channels, channels, { parts, kernel: 3, winograd });
    const x = launches.tensor([1, side, side, channels]);
    const [gain, bias] = [1, 2].map(() => launches.tensor([channels]));
    await launches.row(
      { ...description, format, winograd },
      {
        capacity: {},
        bytes: matrixBytes(weight) + 2 * 4 * side * side * channels,
        operations: 2 * 9 * side * side * channels * channels,
        record: (tape) =>
          isNormed ? normConv(x.on(tape), { weight: gain, bias }, weight, NORM) : conv2d(x.on(tape), weight),
      },
    );
    for (const tensor of [x, gain, bias]) launches.free(tensor);
    launches.freeMatrix(weight);
  } catch (error) {
    await launches.fail(description, error);
  }
}

async function measureAttend(launches, { name, queries, keys, heads, dims }, choice) {
  const { integerDots } = launches.device.capabilities;
  if (choice?.attention.kernels === 'sage' && !integerDots) return;
  const of = choice ? `, ${choice.name}` : '';
  const [q, k, v] = [queries, keys, keys].map((rows) => launches.tensor([1, rows, heads * dims]));
  await launches.row(
    { name: `attend, ${name}, ${heads} heads of ${dims}${of}`, kernel: 'attend', queries, keys, heads, dims },
    {
      capacity: {},
      bytes: 4 * heads * dims * (2 * queries + 2 * keys),
      operations: 4 * queries * keys * heads * dims,
      attention: choice?.attention,
      record: (tape) => attend(...[q, k, v].map((x) => ({ x: x.on(tape), first: 0 })), { heads, dims }),
    },
  );
  for (const tensor of [q, k, v]) launches.free(tensor);
}
