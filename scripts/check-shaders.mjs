// Every shader, in every variant that its imports allow, linked and compiled on a device with nothing beyond WebGPU's default limits
// and the features that the variant enables: one of Dawn's backend that computes nothing, which has them all. What drivers make of the code,
// tests and check-compiled.mjs tell.
//   node scripts/check-shaders.mjs
// Breaches: a message of the compiler; a shader without a variant for one of the capability sets (one that enables a feature in its
// own text serves only adapters with it); a file that no shader imports.

import { create, globals } from 'webgpu';
import { Device } from '../dist/gpu/device.js';
import { EXACT_HALVES } from '../dist/gpu/linker.js';
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

const devices = new Map();

/** A device with these features and default limits. */
async function deviceWith(features) {
  const key = features.join();
  if (!devices.has(key)) {
    const adapter = await gpu.requestAdapter(); // one adapter object makes one device
    const device = await adapter.requestDevice({ requiredFeatures: features });
    const summary = { subgroupMinSize: 0, subgroupMaxSize: 0 };
    devices.set(key, new Device(device, { shaders: read, summary, memoryBudget: 0 }));
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
    problems.push(...(await (await deviceWith(features)).diagnose(name, params)));
    variants += 1;
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

let variants = 0;
Object.assign(globalThis, globals);
const gpu = create(['backend=null', 'enable-dawn-features=allow_unsafe_apis']);
// The linker appends this file where an adapter asks for it.
const reached = new Set([EXACT_HALVES]);
const problems = [];
for (const name of shaders) problems.push(...(await checkShader(name, reached)));
problems.push(
  ...files.filter((path) => !reached.has(path)).map((path) => `shaders/${path}: no shader imports it`),
);
for (const problem of problems) console.error(problem);
console.log(`${shaders.length} shaders, ${variants} variants`);
process.exitCode = problems.length > 0 ? 1 : 0;
