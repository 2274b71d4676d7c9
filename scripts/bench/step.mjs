// Single steps below the public interface: decoding at a deep position without computing the context before it, the JavaScript time
// of a step, the numbers of dispatches and pipelines, and the times of kernels.

import { Placement, SequencePrefix } from '../../dist/engine/text/cache/placement.js';
import { Progress } from '../../dist/engine/text/run/progress.js';
import { Sequence } from '../../dist/engine/text/run/sequence.js';
import { TEXT_CLASSES } from '../../dist/engine/opening/architectures.js';
import { LayerStores } from '../../dist/engine/text/kv/layer-stores.js';
import { wholeLayout } from '../../dist/engine/text/kv/page-layout.js';
import { BatchWriter } from '../../dist/engine/text/step/batch-writer.js';
import { createStepBuffers } from '../../dist/engine/text/step/step-buffers.js';
import { writeStep } from '../../dist/engine/text/step/step.js';
import { formatOf } from '../../dist/engine/weights/plan.js';
import { openWeights } from '../../dist/engine/weights/weights.js';
import { openCheckpoint } from '../../dist/files/checkpoint/checkpoint.js';
import { openDiskFolder } from '../../dist/files/disk/source-disk.js';
import { profile } from '../../dist/gpu/kernel-times.js';
import { Tape } from '../../dist/gpu/tape.js';
import { PAGE_TOKENS, TILE_ROWS } from '../../dist/kernels/batch.js';
import { sample } from '../../dist/kernels/sample.js';
import { readText } from '../../dist/models/text/registry.js';
import { ropeWords } from '../../dist/models/text/blocks/rope.js';
import { stopwatch } from './ceilings.mjs';

const CONTEXT = 4096;
const STEPS = 12;
/** Steps after which the JavaScript of a step is timed in its optimized form, and steps that are timed then. */
const WARM_STEPS = 100;
/** Row capacities that the engine records tapes for, beside the most rows of a step. */
const CAPACITIES = [1, 4, 16];

/** `warm`: whether the JavaScript of optimized steps is timed, too; `prefill`: whether kernels of a prompt's chunk are, too. */
export async function measureSteps(device, folder, quantization, { warm = true, prefill = false } = {}) {
  const { config, weights, buffers, tapes, phaseOf, pipelines } = await recordSteps(
    device,
    folder,
    quantization,
  );
  const [tape] = tapes;
  const writer = new BatchWriter(buffers, config);
  const sequence = fabricate();
  const write = (first, count = 1) =>
    writeStep(writer, {
      parts: [{ sequence, first, rows: count, samples: true }],
      phase: phaseOf(count),
    });
  const near = await decodeAt(device, tape, write, 128);
  const far = await decodeAt(device, tape, write, CONTEXT - STEPS - 1);
  const optimized = warm ? await warmJavaScript(device, tape, write) : null;
  const { timestamps } = device.capabilities;
  const rows = device.profile.stepRows.text;
  return {
    layers: config.layers.length,
    dispatches: tape.dispatchCount,
    pipelines: pipelines(),
    jsMs: near.jsMs,
    warmJsMs: optimized?.jsMs ?? null,
    callsMs: optimized?.callsMs ?? null,
    near: near.rate,
    far: far.rate,
    ...readsOf(weights, config),
    kernels: timestamps ? await profile(device, tape, write(CONTEXT / 2)) : null,
    prefillKernels: timestamps && prefill ? await profileWarm(device, tapes.at(-1), write(0, rows)) : null,
  };
}

/** Dispatches of a decode step with one row, and of a prompt's chunk. */
export async function countDispatches(device, folder, quantization) {
  const { config, tapes } = await recordSteps(device, folder, quantization);
  const [decode, prompt] = [tapes[0], tapes.at(-1)].map((tape) => tape.dispatchCount);
  return { layers: config.layers.length, decode, prompt };
}

/** The tapes of a model's steps; `pipelines()`: number of pipelines made for them so far. */
async function recordSteps(device, folder, quantization) {
  const checkpoint = await openCheckpoint(await openDiskFolder(folder), TEXT_CLASSES);
  const config = readText(checkpoint.config, checkpoint.architecture);
  const pipelines = countPipelines(device.gpu);
  const weights = openWeights(device, checkpoint.tensors, config.generate, {
    format: formatOf(quantization),
  });
  const model = weights.page;
  await weights.load();
  await checkpoint.close();
  const packing = pipelines.count;

  const rows = device.profile.stepRows.text;
  const pages = CONTEXT / PAGE_TOKENS;
  const slots = TILE_ROWS;
  const buffers = createStepBuffers(device, {
    rows,
    tiles: rows,
    pages,
    sampled: slots,
    biases: 0,
    slots,
    ropeWords: ropeWords(config.ropes),
    model: config.inputs,
  });
  const format = 'f16';
  const layout = wholeLayout(config.layers, format);
  const { tables } = buffers;
  const stores = new LayerStores(device, config.layers, { format, layout, pages, tables, slots });
  stores.clear();
  const isApart = device.profile.matvecRows !== null;
  const phaseOf = (count) => (!isApart ? null : count > TILE_ROWS ? 'prompt' : 'decode');
  const tapes = [...CAPACITIES, rows].map((each) =>
    record(device, model, buffers.batch, stores.all, { rows: each, phase: phaseOf(each) }),
  );
  return { config, weights, buffers, tapes, phaseOf, pipelines: () => pipelines.count - packing };
}

async function profileWarm(device, tape, sizes) {
  await profile(device, tape, sizes); // compiles
  return profile(device, tape, sizes);
}

/** What a token reads of the weights of a model in a folder, none of which is loaded. */
export async function countReads(device, folder, quantization) {
  const checkpoint = await openCheckpoint(await openDiskFolder(folder), TEXT_CLASSES);
  const config = readText(checkpoint.config, checkpoint.architecture);
  const weights = openWeights(device, checkpoint.tensors, config.generate, {
    format: formatOf(quantization),
  });
  const reads = readsOf(weights, config);
  await checkpoint.close();
  return reads;
}

/** Weights and bytes that a token reads, and weights of the head. A tied embedding is also the head; otherwise a token reads one row of it. */
function readsOf({ parameters, plan }, { experts, tied, vocabulary, hidden }) {
  const idle = idleExperts(plan, experts);
  const embedding = plan.requests.find(({ request }) => request.role === 'embedding');
  return {
    weightsRead: parameters - idle.weights - (tied ? 0 : vocabulary * hidden),
    bytesRead: plan.bytes - idle.bytes - (tied ? 0 : embedding.bytes),
    headWeights: vocabulary * hidden,
  };
}

/** Weights and bytes of the experts that a token does not take. */
function idleExperts(plan, experts) {
  const of = plan.requests.filter(({ request }) => request.role === 'expert');
  const share = experts === null ? 0 : 1 - experts.chosen / experts.count;
  const weightsOf = ({ request: { rows, k } }) => k * rows.reduce((sum, count) => sum + count, 0);
  return {
    weights: share * of.reduce((sum, each) => sum + weightsOf(each), 0),
    bytes: share * of.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function record(device, { states, head }, batch, stores, { rows, phase }) {
  const capacity = {
    rows,
    sampled: Math.min(rows, TILE_ROWS),
    tiles: rows,
    tileRows: TILE_ROWS,
    contextPages: CONTEXT / PAGE_TOKENS,
    sequences: Math.min(rows, TILE_ROWS),
  };
  const decodes = phase === null ? [] : phase === 'decode' ? ['rows', 'sampled'] : ['sampled'];
  const tape = new Tape(device, capacity, { decodes });
  const logits = head(states(tape, batch, stores), batch);
  tape.cut();
  sample(logits, batch);
  tape.finish();
  return tape;
}

/** Decodes one row per step from a position on, as if the rows before had been computed; returns the best of several. */
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
  placement.tables = [Array.from({ length: CONTEXT / PAGE_TOKENS }, (_, i) => i)];
  placement.passedPages = [0];
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
      lora: null,
    },
    progress: new Progress(ids),
    placement,
    output: null,
    constraint: null,
    recorder: null,
  });
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

/**
 * Median milliseconds of JavaScript in a step once the runtime has optimized it, and of the calls of WebGPU alone that encode and submit
 * the step's dispatches: what no caller of these dispatches can avoid. Both take turns, so that they see the same machine.
 */
async function warmJavaScript(device, tape, write) {
  const { queue } = device.gpu;
  const encodables = tape.encodables(write(128)).filter(({ groups }) => groups.every((count) => count > 0));
  const pipelines = encodables.map(({ pipeline }) => pipeline);
  const bindGroups = encodables.map(({ bindGroup }) => bindGroup);
  const groups = encodables.map(({ groups: [x, y = 1, z = 1] }) => [x, y, z]);
  const times = { js: [], calls: [] };
  for (let i = 0; i < 2 * WARM_STEPS; i++) {
    const begun = performance.now();
    tape.run(write(128 + i));
    times.js.push(performance.now() - begun);
    await queue.onSubmittedWorkDone();
    const alone = performance.now();
    submitAlone(device.gpu, pipelines, bindGroups, groups);
    times.calls.push(performance.now() - alone);
    await queue.onSubmittedWorkDone();
  }
  return { jsMs: median(times.js.slice(WARM_STEPS)), callsMs: median(times.calls.slice(WARM_STEPS)) };
}

/** Encodes and submits dispatches by the calls of WebGPU and nothing else. */
function submitAlone(gpu, pipelines, bindGroups, groups) {
  const encoder = gpu.createCommandEncoder();
  const pass = encoder.beginComputePass();
  for (let i = 0; i < pipelines.length; i++) {
    pass.setPipeline(pipelines[i]);
    pass.setBindGroup(0, bindGroups[i]);
    const [x, y, z] = groups[i];
    if (y * z > 1) pass.dispatchWorkgroups(x, y, z);
    else pass.dispatchWorkgroups(x);
  }
  pass.end();
  gpu.queue.submit([encoder.finish()]);
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
