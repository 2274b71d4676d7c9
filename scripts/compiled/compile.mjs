// Compiles the kernels that a GPU's profile uses, for a GPU that is not there: opens the driver's null device, has `npm run gpu-check`'s launches
// recorded on a device of paper with its limits, and compiles each pipeline. The driver writes its statistics to standard error, behind the number
// that stands there before each; what the pipelines are goes to standard output.
//   node compile.mjs NAME_OF_THE_CARD NUMBER_OF_THE_FIRST        with the variables of setup/radv.mjs

import { writeSync } from 'node:fs';
import { profileOf } from '../../dist/gpu/adapter-profile.js';
import { readShader } from '../../dist/gpu/node.js';
import { openPaperDevice } from '../../dist/gpu/paper-device.js';
import { FORMATS } from '../../dist/kernels/formats.js';
import { measureAttention } from '../gpu-check/cached-attention.mjs';
import { measureImageKernels } from '../gpu-check/image-kernels.mjs';
import { openFully } from '../gpu-check/open-device.mjs';
import { MODELS, measureProduct, measureProducts } from '../gpu-check/products.mjs';
import { measureTextKernels } from '../gpu-check/text-kernels.mjs';
import { linear } from '../../dist/kernels/matmul.js';
import { PaperLaunches } from './paper-launches.mjs';

/** Bytes that nothing is refused for. */
const PAPER = 2 ** 40;
/** The product in which every weight format is compiled. */
const SQUARE = { name: 'square', columns: 4096, k: 4096, launch: (x, weight) => linear(x, weight) };

/** Formats in which products of activations in 8 bits are compiled: each way of laying codes out, and of two scales and minima. */
const INTEGERS = ['int8', 'int4', 'q2_k', 'q3_k', 'q4_k', 'q5_k', 'q6_k', 'u8_128'];

const [card, first] = process.argv.slice(2);
const { device: real, summary } = await openFully();
const like = { ...summary, device: card, description: card };
const found = new Map();
// If the card has a matrix unit, products of prompts have two kernels: the one without it serves adapters whose unit fails its probe.
for (const matrixUnit of new Set([like.matrixUnit, 'not asked for'])) {
  const device = openPaperDevice({
    ...{ like: { ...like, matrixUnit }, profile: profileOf(like), shaders: readShader },
    ...{ memoryBudget: PAPER, hostBudget: PAPER },
  });
  const launches = new PaperLaunches(device, found);
  for (const model of Object.keys(MODELS)) await measureProducts(launches, model);
  for (const format of Object.keys(FORMATS)) await measureProduct(launches, 'any', SQUARE, format);
  for (const format of INTEGERS)
    await measureProduct(launches, 'any', { ...SQUARE, activations: 'int8' }, format);
  await measureAttention(launches);
  await measureTextKernels(launches);
  await measureImageKernels(launches);
}

const pipelines = [...found.values()];
console.log(JSON.stringify({ driver: summary.description, pipelines: pipelines.map(described) }));
const kept = []; // what is collected is destroyed, which the null device may not survive
for (let at = Number(first); at < pipelines.length; at++) {
  const { code, bindings, shader } = pipelines[at];
  writeSync(2, `\npipeline ${at}\n`);
  const entries = bindings.map(({ index, type }) => ({ binding: index, visibility: 4, buffer: { type } }));
  const layout = real.gpu.createPipelineLayout({
    bindGroupLayouts: [real.gpu.createBindGroupLayout({ entries })],
  });
  const module = real.gpu.createShaderModule({ code, label: shader });
  kept.push(await real.gpu.createComputePipelineAsync({ layout, compute: { module, entryPoint: 'main' } }));
}
process.kill(process.pid, 'SIGKILL'); // the null device cannot be closed

function described({ shader, params, of }) {
  return { shader, params, of };
}
