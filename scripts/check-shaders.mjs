// Every shader, in every variant that its imports allow, linked and compiled on a device with nothing beyond WebGPU's default limits
// and the features that the variant enables; where that device lacks one, on Dawn's backend that computes nothing.
//   node scripts/check-shaders.mjs
// Breaches: a message of the compiler; a shader without a variant for one of the capability sets (one that enables a feature in its
// own text serves only adapters with it); a file that no shader imports.

import { create, globals } from 'webgpu';
import { Device } from '../dist/gpu/device.js';
import { EXACT_HALVES } from '../dist/gpu/linker.js';
import { preloadCachedDriver, systemHasVulkanLoader } from '../dist/gpu/vulkan-cache.js';
import { enabledBy, files, linkVariant, read, shaders, texts, variantsOf } from './shader-variants.mjs';

// WGSL's name of an extension, and the device feature that it needs.
const FEATURES = new Map([
  ['f16', 'shader-f16'],
  ['subgroups', 'subgroups'],
  ['subgroup_size_control', 'subgroup-size-control'],
  ['chromium_experimental_subgroup_matrix', 'chromium-experimental-subgroup-matrix'],
]);
const CAPABILITY_SETS = [[], ['shader-f16'], ['subgroups'], ['shader-f16', 'subgroups']];

function featuresOf(code) {
  return enabledBy(code)
    .flatMap((name) => FEATURES.get(name) ?? [])
    .sort();
}

const held = []; // a GPU object collected while work is pending would end the process

/** A GPU object whose adapters answer: the system's, else the cached driver's. */
async function openGpu() {
  Object.assign(globalThis, globals);
  const start = () => held.push(create(['enable-dawn-features=allow_unsafe_apis']));
  if (process.platform === 'linux' && !systemHasVulkanLoader()) preloadCachedDriver();
  start();
  if (await held.at(-1).requestAdapter()) return held.at(-1);
  if (preloadCachedDriver() !== null) start();
  if (await held.at(-1).requestAdapter()) return held.at(-1);
  throw new Error('no adapter answers');
}

const devices = new Map();

/** A GPU object of the backend that computes nothing. */
function openNull() {
  nothing ??= create(['backend=null', 'enable-dawn-features=allow_unsafe_apis']);
  return nothing;
}
let nothing;

/** A device with these features and default limits; null where no adapter has all. */
async function deviceWith(features) {
  const key = features.join();
  if (!devices.has(key)) {
    let device = null;
    for (const open of [() => gpu, openNull]) {
      const adapter = await open().requestAdapter(); // one adapter object makes one device
      if (!features.every((feature) => adapter.features.has(feature))) continue;
      device = await adapter.requestDevice({ requiredFeatures: features });
      break;
    }
    const summary = { subgroupMinSize: 0, subgroupMaxSize: 0 };
    devices.set(key, device && new Device(device, { shaders: read, summary, memoryBudget: 0 }));
  }
  return devices.get(key);
}

/** Compiles all variants of one shader; returns what is wrong. `reached` collects the files used. */
async function checkShader(name, reached) {
  const problems = [];
  const served = new Set();
  for (const { params, imports } of variantsOf(name)) {
    for (const path of imports) reached.add(path);
    const features = featuresOf(linkVariant(name, params).code);
    for (const set of CAPABILITY_SETS)
      if (features.every((feature) => set.includes(feature))) served.add(set);
    const device = await deviceWith(features);
    if (device === null) counts.untried += 1;
    else problems.push(...(await device.diagnose(name, params)));
    counts.variants += 1;
  }
  const own = featuresOf(texts.get(name));
  const unserved = CAPABILITY_SETS.filter(
    (set) => own.every((feature) => set.includes(feature)) && !served.has(set),
  );
  return [
    ...problems,
    ...unserved.map(
      (set) => `${name}: no variant for an adapter with ${set.join(' and ') || 'neither f16 nor subgroups'}`,
    ),
  ];
}

const counts = { variants: 0, untried: 0 };
const gpu = await openGpu();
// The linker appends this file where an adapter asks for it.
const reached = new Set([EXACT_HALVES]);
const problems = [];
for (const name of shaders) problems.push(...(await checkShader(name, reached)));
problems.push(
  ...files.filter((path) => !reached.has(path)).map((path) => `shaders/${path}: no shader imports it`),
);
for (const problem of problems) console.error(problem);
const untried = counts.untried > 0 ? `, ${counts.untried} of them only linked for want of a feature` : '';
console.log(`${shaders.length} shaders, ${counts.variants} variants${untried}`);
process.exitCode = problems.length > 0 ? 1 : 0;
