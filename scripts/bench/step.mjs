// Single steps, below the public face: decoding deep in a context without computing that context first, what a step costs
// JavaScript, how many dispatches and pipelines there are, and which kernels take the time.

import { Placement, SequencePrefix } from '../../dist/engine/text/cache/placement.js';
import { Progress } from '../../dist/engine/text/progress.js';
import { Sequence } from '../../dist/engine/text/sequence.js';
import { TEXT_CLASSES } from '../../dist/engine/architectures.js';
import { createStepBuffers } from '../../dist/engine/text/step/step-buffers.js';
import { writeStep } from '../../dist/engine/text/step/step.js';
import { formatOf } from '../../dist/engine/weights/plan.js';
import { openWeights } from '../../dist/engine/weights/weights.js';
import { openCheckpoint } from '../../dist/files/checkpoint/checkpoint.js';
import { openDiskFolder } from '../../dist/files/source-disk.js';
import { profile } from '../../dist/gpu/kernel-times.js';
import { Tape } from '../../dist/gpu/tape.js';
import { PAGE_TOKENS, TILE_ROWS } from '../../dist/kernels/batch.js';
import { sample } from '../../dist/kernels/sample.js';
import { readLlamaConfig } from '../../dist/models/text/llama-config.js';
import { llama } from '../../dist/models/text/llama.js';
import { ropeSets } from '../../dist/models/text/rope.js';
import { stopwatch } from './ceilings.mjs';

const CONTEXT = 4096;
const STEPS = 12;
/** Row capacities that the engine records tapes for. */
const CAPACITIES = [1, 4, 16, 256];

export async function measureSteps(device, folder, quantization) {
  const checkpoint = await openCheckpoint(await openDiskFolder(folder), TEXT_CLASSES);
  const config = readLlamaConfig(checkpoint.config, checkpoint.architecture);
  const pipelines = countPipelines(device.gpu);
  const weights = openWeights(device, checkpoint.tensors, (table) => llama(config, table), {
    format: formatOf(quantization),
  });
  const model = weights.page;
  await weights.load();
  await checkpoint.close();
  const packing = pipelines.count;

  const { dims, kvHeads } = config.heads;
  const rows = CAPACITIES.at(-1);
  const pages = CONTEXT / PAGE_TOKENS;
  const slots = TILE_ROWS;
  const buffers = createStepBuffers(device, {
    rows,
    tiles: rows,
    pages,
    sampled: slots,
    biases: 0,
    slots,
    dims,
  });
  const kv = config.windows.map(() => ({
    format: 'f16',
    keys: zeros(device, pages * PAGE_TOKENS * kvHeads * dims * 2),
    values: zeros(device, pages * PAGE_TOKENS * kvHeads * dims * 2),
  }));
  const [tape] = CAPACITIES.map((capacity) => record(device, model, buffers.batch, kv, capacity));

  const rope = ropeSets(config.rope, buffers.words.turns);
  const sequence = fabricate();
  const write = (first) => writeStep(buffers, [{ sequence, first, rows: 1, samples: true }], rope);
  const near = await decodeAt(device, tape, write, 128);
  const far = await decodeAt(device, tape, write, CONTEXT - STEPS - 1);
  return {
    layers: config.windows.length,
    dispatches: tape.dispatchCount,
    pipelines: pipelines.count - packing,
    jsMs: near.jsMs,
    near: near.rate,
    far: far.rate,
    // A tied embedding is the head; else a token reads one row of it.
    weightsRead: weights.parameters - (config.tied ? 0 : config.vocabulary * config.hidden),
    headWeights: config.vocabulary * config.hidden,
    kernels: device.capabilities.timestamps ? await profile(device, tape, write(CONTEXT / 2)) : null,
  };
}

function record(device, { states, head }, batch, kv, rows) {
  const tape = new Tape(device, {
    rows,
    sampled: Math.min(rows, TILE_ROWS),
    tiles: rows,
    tileRows: TILE_ROWS,
    contextPages: CONTEXT / PAGE_TOKENS,
  });
  const logits = head(states(tape, batch, kv), batch);
  tape.cut();
  sample(logits, batch);
  tape.finish();
  return tape;
}

/** One row a step from a position on, as if what lies before had been computed: the best of a few. */
async function decodeAt(device, tape, write, position) {
  const best = { wall: Infinity, quiet: Infinity, js: Infinity };
  for (let i = 0; i <= STEPS; i++) {
    let js;
    const { wall, quiet } = await stopwatch(async () => {
      const begun = performance.now();
      tape.run(write(position + i));
      js = performance.now() - begun;
      await device.gpu.queue.onSubmittedWorkDone();
    });
    if (i === 0) continue; // compiles
    best.wall = Math.min(best.wall, wall);
    best.quiet = Math.min(best.quiet, quiet);
    best.js = Math.min(best.js, js);
  }
  return { rate: { wall: 1000 / best.wall, quiet: 1000 / best.quiet }, jsMs: best.js };
}

/** A sequence whose tokens are all known and whose pages are the first ones. */
function fabricate() {
  const ids = Array.from({ length: CONTEXT }, (_, i) => i % 256);
  const placement = new Placement(new SequencePrefix('', CONTEXT));
  placement.slot = 0;
  placement.pages = Array.from({ length: CONTEXT / PAGE_TOKENS }, (_, i) => i);
  const sampling = {
    temperature: 0,
    topP: 1,
    topK: 0,
    minP: 0,
    seedLow: 0,
    seedHigh: 0,
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
    bias: [],
    biasBelowMin: [],
    logprobs: null,
  };
  return new Sequence({
    choice: 0,
    leader: null,
    request: {
      priority: 0,
      maxTokens: 1,
      minTokens: 0,
      sampling,
      stopIds: new Set(),
      allowed: null,
      processor: null,
      adapter: null,
    },
    progress: new Progress(ids),
    placement,
    output: null,
    constraint: null,
    recorder: null,
  });
}

function zeros(device, bytes) {
  const buffer = device.allocate('kv', 'pages', bytes);
  const encoder = device.gpu.createCommandEncoder();
  encoder.clearBuffer(buffer);
  device.gpu.queue.submit([encoder.finish()]);
  return { buffer, offset: 0, size: buffer.size };
}

export function countPipelines(gpu) {
  const counter = { count: 0 };
  const create = gpu.createComputePipeline.bind(gpu);
  gpu.createComputePipeline = (descriptor) => {
    counter.count++;
    return create(descriptor);
  };
  return counter;
}
