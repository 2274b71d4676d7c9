// Cost of streaming a denoiser's layers: one synthetic Z-Image on the device, with its layers in host memory, and with its layers in the
// cache of packed weights, step by step in turns in one process, and the peaks of memory beside the planned ones. Prints JSON.
//   node scripts/bench/offload.mjs [ROUNDS]

import { IMAGE } from '../../dist/host/kinds/image.js';
import { openInline } from '../../dist/host/open.js';
import { nodePlatform } from '../../dist/host/node/platform.js';
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
  stored: { memoryBudget: BUDGET, ditLayerwiseOffload: true },
};
const models = {};
const devices = {};
for (const [way, options] of Object.entries(ways)) {
  const openDevice = async (given) => {
    devices[way] = await nodePlatform.openDevice(given);
    // Without room in host memory, every layer is read from the file, whose pages the system keeps in memory.
    devices[way].host.budget = way === 'stored' ? 0 : Infinity;
    return devices[way];
  };
  models[way] = await openInline(IMAGE, { ...nodePlatform, openDevice }, { model: folder, ...options });
}

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
  const steps = Object.fromEntries(Object.keys(models).map((way) => [way, []]));
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
  if (new Set(Object.values(images)).size > 1) throw new Error('streaming changed the image');
  const plans = {};
  const hosts = {};
  for (const [way, model] of Object.entries(models)) {
    const plan = await model.plan(request);
    plans[way] = plan.peak;
    hosts[way] = { taken: devices[way].host.takePeak(), planned: plan.host };
  }
  const of = (way, key) => Math.min(...steps[way].map((step) => step[key]));
  const ratios = (key) =>
    Object.fromEntries(['streamed', 'stored'].map((way) => [way, of(way, key) / of('resident', key)]));
  return {
    size,
    wallRatio: ratios('wall'),
    cpuRatio: ratios('cpu'),
    residentStepMs: of('resident', 'wall'),
    peaks,
    plans,
    hosts,
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
