// Stage 6: steps of image models in published shapes, by the clock and by kernel. Weights are sparse files that are made on the machine. Nothing
// is decoded: a step is what a user waits for.

import { join } from 'node:path';
import { IMAGE } from '../../dist/host/kinds/image.js';
import { openInline } from '../../dist/host/open.js';
import { nodePlatform } from '../../dist/host/node/platform.js';
import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';

const PROMPT = 'a red balloon over snowy mountains at sunset';
/** Steps of which the fastest one but the first counts, since that also loads and compiles. */
const STEPS = 4;
const KERNELS = 12;
const BUDGET = 2 ** 40;
/** Layers of FLUX.1's 19 of two streams and 38 of one. */
const FLUX = { layers: 2, singles: 4 };
const TINY_CLIP = {
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  vocab_size: 512,
};
const TINY_FLUX = {
  textDims: 128,
  pooledDims: 64,
  transformer: { num_attention_heads: 2, attention_head_dim: 48, axes_dims_rope: [16, 16, 16] },
};

const PARTS = {
  'SD 1.5': { name: 'SD 1.5 at 512²', side: 512, guidance: 7 },
  'FLUX.1': {
    name: `FLUX.1 of ${FLUX.layers} + ${FLUX.singles} layers (not 19 + 38) at 1024²`,
    side: 1024,
    guidance: 3.5,
  },
  SDXL: { name: 'SDXL at 1024²', side: 1024, guidance: 7 },
};

/** Configurations of the pipelines; the makers of checkpoints read where these are to lie, so they are imported after that is known. */
async function pipelineOf(part, small) {
  const { stableDiffusion, stableDiffusionXL } = await import('../bench/pipelines.mjs');
  const { fluxOf } = await import('../bench/transformer-pipelines.mjs');
  if (part === 'FLUX.1') return small ? fluxOf({ layers: 1, singles: 1, ...TINY_FLUX }) : fluxOf(FLUX);
  const tiny = { channels: 32, decoderChannels: 32, clip: TINY_CLIP };
  if (part === 'SDXL')
    return stableDiffusionXL(small ? { ...tiny, channels: 64, bigDims: 64 } : { channels: 320 });
  return stableDiffusion(small ? tiny : { channels: 320 });
}

export async function measure({ part, small, sink, scratch, earlier }) {
  process.env.SVC_SPARSE_CHECKPOINTS = join(scratch, 'checkpoints');
  throttlePolling();
  const { pipelineFolder } = await import('../bench/pipelines.mjs');
  const { countParts, profileParts } = await import('../bench/parts.mjs');
  const folder = pipelineFolder('image', await pipelineOf(part, small));
  const { name: whole, side, guidance } = PARTS[part];
  const name = small ? `tiny ${part}` : whole;
  const pixels = small ? 64 : side;
  const request = { prompt: PROMPT, seed: 1, width: pixels, height: pixels, steps: STEPS, guidance };
  const { values, ms } = await timeSteps(folder, request);
  const work = await countParts(folder, values, PROMPT.length);
  const tflops = work.step / ms / 1e9;
  const { f32Tflops, 'matrix f16 to f32': matrixTflops } = earlier.ceilings?.best ?? {};
  sink.row('rows', {
    name: `${name}, a step (forward passes: ${work.forwards})`,
    ...{ part, ms, operations: work.step, tflops },
    ...(f32Tflops > 0 && { ofFma: tflops / f32Tflops }),
    ...(matrixTflops > 0 && { ofMatrix: tflops / matrixTflops }),
  });
  const device = await openDevice(small ? {} : { memoryBudget: BUDGET });
  if (!device.capabilities.timestamps) return;
  const { step } = await profileParts(device, folder, values, PROMPT, ['step']);
  for (const { name: kernel, dispatches, ms: own } of step.slice(0, KERNELS))
    sink.row('kernels', {
      name: `${name}, a step: ${kernel}`,
      ...{ part, kernel, dispatches, ms: own, value: `in ${dispatches} dispatches` },
    });
}

/** The values of a request, and milliseconds of the fastest step but the first. */
async function timeSteps(folder, request) {
  const model = await openInline(IMAGE, { ...nodePlatform, packed: null }, { model: folder });
  const moments = [];
  let values;
  for await (const event of model.generate(request)) {
    if (event.type === 'resolved') ({ values } = event);
    if (event.type === 'step') moments.push(performance.now());
    if (moments.length === STEPS) break;
  }
  await model.close();
  return { values, ms: Math.min(...moments.slice(1).map((moment, i) => moment - moments[i])) };
}
