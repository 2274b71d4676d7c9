// What streaming a denoiser's layers costs: one synthetic Z-Image on the device and with its layers in host memory, step by step in
// turns in one process, and the peak of device memory beside the planned one. Prints JSON.
//   node scripts/bench/offload.mjs [ROUNDS]

import { openImageModel } from '../../dist/index.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { pipelineFolder } from './pipelines.mjs';
import { zImageOf } from './transformer-pipelines.mjs';

/** A third of Z-Image's width, so that a step of 8 layers takes seconds on a software adapter. */
const TRANSFORMER = { dim: 1280, n_heads: 10, n_kv_heads: 10 };
const LAYERS = 6;
const SIZES = [128, 256];
const STEPS = 3;
const BUDGET = 3 * 2 ** 30;

const rounds = Number(process.argv[2] ?? 3);
throttlePolling();
const folder = pipelineFolder(
  'z-image-narrow',
  zImageOf({ layers: LAYERS, refiners: 1, transformer: TRANSFORMER, captionDims: 1024 }),
);

const ways = {
  resident: { memoryBudget: BUDGET, ditCpuOffload: false },
  streamed: { memoryBudget: BUDGET, ditLayerwiseOffload: true },
};
const models = {};
for (const [way, options] of Object.entries(ways))
  models[way] = await openImageModel({ model: folder, ...options, inline: true });

const results = [];
for (const size of SIZES) results.push(await measure(size));
for (const model of Object.values(models)) await model.close();
process.stdout.write(`${JSON.stringify(results, null, 2)}\n`, () => process.exit());

async function measure(size) {
  const request = {
    prompt: 'a red balloon over mountains',
    seed: 1,
    width: size,
    height: size,
    steps: STEPS,
    guidance: 0,
  };
  const steps = { resident: [], streamed: [] };
  const images = {};
  const peaks = {};
  for (let round = -1; round < rounds; round++) {
    for (const [way, model] of Object.entries(models)) {
      const drawn = await draw(model, request);
      peaks[way] = Math.max(peaks[way] ?? 0, drawn.peak);
      images[way] = drawn.image;
      // The first round compiles and loads.
      if (round >= 0) steps[way].push(...drawn.steps);
    }
  }
  if (images.resident !== images.streamed) throw new Error('streaming changed the image');
  const plans = {};
  for (const [way, model] of Object.entries(models)) plans[way] = (await model.plan(request)).peak;
  const of = (way, key) => Math.min(...steps[way].map((step) => step[key]));
  return {
    size,
    wallRatio: of('streamed', 'wall') / of('resident', 'wall'),
    cpuRatio: of('streamed', 'cpu') / of('resident', 'cpu'),
    residentStepMs: of('resident', 'wall'),
    peaks,
    plans,
  };
}

/** Steps with their wall clock and CPU time in milliseconds. */
async function draw(model, request) {
  const steps = [];
  let peak = 0;
  let image = '';
  let at = process.cpuUsage();
  for await (const event of model.generate(request)) {
    if (event.type === 'stage') peak = Math.max(peak, event.peakBytes);
    if (event.type === 'image') image = Buffer.from(event.image.data).toString('base64');
    if (event.type !== 'step') continue;
    const { user, system } = process.cpuUsage(at);
    at = process.cpuUsage();
    // The first step of an image shares its CPU time with recording.
    if (event.step > 1) steps.push({ wall: event.milliseconds, cpu: (user + system) / 1000 });
  }
  return { steps, peak, image };
}
