// Stage 5: whole language models in published shapes through the engine's own face, by the clock; then the kernels of a decoding step and of a
// prompt's chunk. Weights are sparse files that are made on the machine: speed does not depend on their values.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { TEXT } from '../../dist/host/kinds/text.js';
import { openInline } from '../../dist/host/open.js';
import { nodePlatform } from '../../dist/host/node/platform.js';
import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { readCeiling } from './ceilings.mjs';
import { MODELS } from './products.mjs';

const SHAPES = {
  '8B': { ...MODELS['8B'], layers: 32 },
  '1B': { ...MODELS['1B'], layers: 16, tied: true },
};
const TINY = { hidden: 256, ffn: 512, heads: 2, kvHeads: 1, dims: 128, vocabulary: 512, layers: 2 };
const PARTS = {
  '1B f16': { model: '1B', format: 'f16' },
  '1B int4': { model: '1B', format: 'int4' },
  '8B int4': { model: '8B', format: 'int4' },
  '8B Q4_K_M': { model: '8B', format: 'Q4_K_M' },
  '8B f16': { model: '8B', format: 'f16' },
};
const FULL = { prompts: [512, 4096], batches: [1, 4, 16], tokens: 64, context: 8192, totalTokens: 16384 };
const SMALL = { prompts: [16], batches: [1, 4], tokens: 4, context: 256, totalTokens: 1024 };
/** Layers of the model whose kernels are timed: they are alike. */
const PROFILED_LAYERS = 8;
const BUDGET = 2 ** 40;
const KERNELS = 12;

export async function measure(job) {
  const { part, small, sink, scratch, earlier } = job;
  // Read by the makers of checkpoints, which are therefore imported here.
  process.env.SVC_SPARSE_CHECKPOINTS = join(scratch, 'checkpoints');
  throttlePolling();
  const { format, model } = PARTS[part];
  const shape = small ? TINY : fittingShape(SHAPES[model], job);
  const work = small ? SMALL : FULL;
  const best = earlier.ceilings?.best ?? {};
  const checkpoint = await checkpointOf(small ? 'tiny' : `${model}-${shape.layers}`, shape, format);
  if (!small)
    sink.row('rows', { name: `${part}, layers`, part, value: `${shape.layers}`, layers: shape.layers });
  const run = { part, sink, best, work, ...checkpoint };
  const rates = await byTheClock(run);
  const device = await openDevice(small ? {} : { memoryBudget: BUDGET });
  await addRates(run, device, rates);
  const fewer = { ...shape, layers: Math.min(shape.layers, PROFILED_LAYERS) };
  const profiled =
    fewer.layers === shape.layers ? checkpoint : await checkpointOf(`${model}-part`, fewer, format);
  await addKernels({ ...run, ...profiled }, device, fewer.layers);
}

/**
 * The shape with as many layers as can be opened in half of the time that is left, by the rate of the models before. Models of fewer layers are
 * named so in their rows.
 */
function fittingShape(shape, { earlier, left }) {
  const rates = (earlier.models?.rows ?? []).filter(({ isOpening }) => isOpening).map(({ gbytes }) => gbytes);
  const rate = Math.max(0, ...rates);
  if (rate === 0) return shape;
  const { hidden, ffn, heads, kvHeads, dims, vocabulary } = shape;
  const layerBytes = 2 * hidden * (3 * ffn + (2 * heads + 2 * kvHeads) * dims);
  const otherBytes = 4 * hidden * vocabulary;
  const bytes = (rate * 1e9 * left()) / 1000 / 2;
  const layers = Math.floor((bytes - otherBytes) / layerBytes) - PROFILED_LAYERS;
  return {
    ...shape,
    layers: Math.max(Math.min(PROFILED_LAYERS, shape.layers), Math.min(shape.layers, layers)),
  };
}

/** Path of a sparse checkpoint, what it is quantized to as it is opened, and its bytes. */
async function checkpointOf(name, shape, format) {
  const { llamaCheckpoint } = await import('../bench/checkpoint.mjs');
  const { ggufFile } = await import('../bench/gguf.mjs');
  const of = `llama-${name.toLowerCase()}`;
  if (format.startsWith('Q')) {
    const path = ggufFile(format, of, shape);
    return { path, quantization: 'none', bytes: statSync(path).size };
  }
  const path = llamaCheckpoint(of, shape);
  const bytes = statSync(join(path, 'model.safetensors')).size;
  return { path, quantization: format === 'f16' ? 'none' : format, bytes };
}

/** Opens the model as programs do, but for the cache of packed weights, which would fill the disk. */
async function byTheClock({ part, sink, work, path, quantization, bytes }) {
  const { measureDecode, measurePrefill } = await import('../bench/engine.mjs');
  const begun = performance.now();
  const model = await openInline(
    TEXT,
    { ...nodePlatform, packed: null },
    {
      model: path,
      quantization,
      contextLength: work.context,
      maxTotalTokens: work.totalTokens,
      prefixCache: false,
    },
  );
  const ms = performance.now() - begun;
  sink.row('rows', { name: `${part}, opening`, part, isOpening: true, ms, gbytes: bytes / ms / 1e6 });
  const { memory } = model.info;
  const value = `${Number((memory.weights / 2 ** 20).toPrecision(4))} MiB of weights`;
  sink.row('rows', { name: `${part}, memory`, part, value, memory });
  const rates = { prefill: new Map(), decode: new Map() };
  for (const batch of work.batches)
    rates.decode.set(batch, (await measureDecode(model, batch, work.tokens)).wall);
  for (const tokens of work.prompts) rates.prefill.set(tokens, (await measurePrefill(model, tokens)).wall);
  await model.close();
  return rates;
}

/** Rates beside what they read and compute at least. */
async function addRates({ part, sink, best, path, quantization }, device, { decode, prefill }) {
  const { countReads } = await import('../bench/step.mjs');
  const { bytesRead, weightsRead, headWeights } = await countReads(device, path, quantization);
  const shares = ({ gbytes, tflops }) => ({
    ...(gbytes !== undefined && {
      gbytes,
      ...(readCeiling(best) > 0 && { ofRead: gbytes / readCeiling(best) }),
    }),
    tflops,
    ...(best.f32Tflops > 0 && { ofFma: tflops / best.f32Tflops }),
    ...(best['matrix f16 to f32'] > 0 && { ofMatrix: tflops / best['matrix f16 to f32'] }),
  });
  for (const [batch, perSecond] of decode) {
    const figures = {
      gbytes: (perSecond / batch) * (bytesRead / 1e9),
      tflops: (perSecond * 2 * weightsRead) / 1e12,
    };
    sink.row('rows', { name: `${part}, decode, batch ${batch}`, part, batch, perSecond, ...shares(figures) });
  }
  for (const [tokens, perSecond] of prefill) {
    const tflops = (perSecond * 2 * (weightsRead - headWeights)) / 1e12;
    sink.row('rows', {
      name: `${part}, prefill of ${tokens}`,
      part,
      tokens,
      perSecond,
      ...shares({ tflops }),
    });
  }
}

/** Times of kernels, each dispatch in a pass of its own. */
async function addKernels({ part, sink, path, quantization }, device, layers) {
  const { measureSteps } = await import('../bench/step.mjs');
  const steps = await measureSteps(device, path, quantization, { warm: false, prefill: true });
  const { dispatches, pipelines, near, far } = steps;
  const step = (tokens, { wall }) =>
    sink.row('rows', {
      name: `${part}, ${layers} layers, a step at ${tokens} tokens, one by one`,
      ...{ part, layers, tokens, ms: 1000 / wall, dispatches, pipelines },
    });
  step(128, near);
  step(4096, far);
  const list = (phase, kernels) => {
    for (const { name: kernel, dispatches: count, ms } of (kernels ?? []).slice(0, KERNELS))
      sink.row('kernels', {
        name: `${part}, ${layers} layers, ${phase}: ${kernel}`,
        ...{ part, layers, phase, kernel, dispatches: count, ms, value: `in ${count} dispatches` },
      });
  };
  list('decode at 2,048 tokens', steps.kernels);
  list('a whole chunk of a prompt', steps.prefillKernels);
}
