// Stage 4: the engine's kernels in the shapes of published models, launched as the engine does, beside the ceilings of stage 2.

import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { probeMatrixUnit } from '../../dist/kernels/matrix-unit.js';
import { measureAttention } from './cached-attention.mjs';
import { measureImageKernels } from './image-kernels.mjs';
import { compareIntegerProducts } from './integer-products.mjs';
import { Launches } from './launches.mjs';
import {
  compareMatrixAttention,
  compareMatrixConvolutions,
  compareMatrixProducts,
} from './matrix-products.mjs';
import { measureProducts } from './products.mjs';
import { measureTextKernels } from './text-kernels.mjs';

const BUDGET = { full: 6 * 2 ** 30, small: 2 ** 29 };

const PARTS = {
  'products 8B': (launches) => measureProducts(launches, '8B'),
  'matrix units': compareOnMatrixUnits,
  'activations in 8 bits': compareIntegerProducts,
  attention: measureAttention,
  'norms, rope and sampling': measureTextKernels,
  images: measureImageKernels,
  'products 3B': (launches) => measureProducts(launches, '3B'),
  'products 1B': (launches) => measureProducts(launches, '1B'),
};

async function compareOnMatrixUnits(launches) {
  await compareMatrixProducts(launches);
  await compareMatrixConvolutions(launches);
  await compareMatrixAttention(launches);
}

export async function measure(job) {
  throttlePolling();
  const device = await openDevice({ memoryBudget: job.small ? BUDGET.small : BUDGET.full });
  await probeMatrixUnit(device);
  await PARTS[job.part](new Launches(device, job));
}
