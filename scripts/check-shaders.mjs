// Every shader, in every variant that its imports allow, linked and compiled on a device with nothing beyond WebGPU's default limits
// and the features that the variant enables. No list is kept: `#import "lib/rows.$LANES.wgsl"` has as many variants as files match.
//   node scripts/check-shaders.mjs
// Breaches: a message of the compiler; a shader without a variant for one of the capability sets (one that enables a feature in its
// own text serves only adapters with it); a file that no shader imports.

import { readdirSync, readFileSync } from 'node:fs';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, globals } from 'webgpu';
import { Device } from '../dist/gpu/device.js';
import { link } from '../dist/gpu/linker.js';
import { preloadCachedDriver, systemHasVulkanLoader } from '../dist/gpu/vulkan-cache.js';

const folder = new URL('../shaders/', import.meta.url);
const files = readdirSync(fileURLToPath(folder), { recursive: true })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => path.endsWith('.wgsl'));
const texts = new Map(files.map((path) => [path, readFileSync(new URL(path, folder), 'utf8')]));

// WGSL's name of an extension, and the device feature that it needs.
const FEATURES = new Map([
  ['f16', 'shader-f16'],
  ['subgroups', 'subgroups'],
]);
const CAPABILITY_SETS = [[], ['shader-f16'], ['subgroups'], ['shader-f16', 'subgroups']];

/** Storage formats, of which there are many. */
const STORAGE = ['W', 'SOURCE'];

/**
 * Parameter sets for every choice that the imports of a shader leave open. A storage format after the first is only combined with the
 * first value of each other parameter: its file declares the same names, and does not see the others.
 */
function* variantsOf(name, params = {}, isBrief = false) {
  const open = openImport(name, params);
  if (open === null) {
    yield params;
    return;
  }
  const [, key] = open.match(/\$(\w+)/);
  const pattern = new RegExp(
    `^${open.replaceAll('.', '\\.').replace(`$${key}`, '([\\w-]+)').replace(/\$\w+/g, '[\\w-]+')}$`,
  );
  const values = new Set(files.map((file) => file.match(pattern)?.[1]).filter(Boolean));
  if (values.size === 0) throw new Error(`${name}: no file matches the import ${open}`);
  for (const [at, value] of (isBrief ? [...values].slice(0, 1) : [...values]).entries()) {
    const chosen = { ...params, [key]: /^\d+$/.test(value) ? Number(value) : value };
    yield* variantsOf(name, chosen, isBrief || (STORAGE.includes(key) && at > 0));
  }
}

/** The first import of `name` or of its imports that still holds a parameter; null: all parameters have values. */
function openImport(name, params) {
  for (const path of reachedBy(name, params)) if (path.includes('$')) return path;
  return null;
}

function reachedBy(name, params, seen = new Set()) {
  seen.add(name);
  for (const [, path] of (texts.get(name) ?? '').matchAll(/^#import\s+"([^"]+)"/gm)) {
    const settled = path.replace(/\$(\w+)/g, (whole, key) => params[key] ?? whole);
    if (!seen.has(settled)) reachedBy(settled, params, seen);
  }
  return seen;
}

function featuresOf(code) {
  const enabled = [...code.matchAll(/^enable\s+([^;]+);/gm)].flatMap(([, names]) => names.split(/\s*,\s*/));
  return enabled.flatMap((name) => FEATURES.get(name) ?? []).sort();
}

function read(path) {
  const text = texts.get(path);
  if (text === undefined) throw new Error(`no file shaders/${path}`);
  return text;
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

/** A device with these features and default limits; null where the adapter lacks one. */
async function deviceWith(features) {
  const key = features.join();
  if (!devices.has(key)) {
    const adapter = await gpu.requestAdapter(); // one adapter object makes one device
    const able = features.every((feature) => adapter.features.has(feature));
    const device = able ? await adapter.requestDevice({ requiredFeatures: features }) : null;
    const summary = { subgroupMinSize: 0, subgroupMaxSize: 0 };
    devices.set(key, device && new Device(device, { shaders: read, summary, memoryBudget: 0 }));
  }
  return devices.get(key);
}

/** Compiles all variants of one shader; returns what is wrong. `reached` collects the files used. */
async function checkShader(name, reached) {
  const problems = [];
  const served = new Set();
  for (const params of variantsOf(name)) {
    const imports = reachedBy(name, params);
    if ([...imports].some((path) => !texts.has(path))) continue; // one parameter, two imports, and only one has this file
    for (const path of imports) reached.add(path);
    const features = featuresOf(link(read, name, params).code);
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
const reached = new Set();
const problems = [];
const shaders = files.filter((path) => !path.includes('/'));
for (const name of shaders) problems.push(...(await checkShader(name, reached)));
problems.push(
  ...files.filter((path) => !reached.has(path)).map((path) => `shaders/${path}: no shader imports it`),
);
for (const problem of problems) console.error(problem);
const untried = counts.untried > 0 ? `, ${counts.untried} of them only linked for want of a feature` : '';
console.log(`${shaders.length} shaders, ${counts.variants} variants${untried}`);
process.exitCode = problems.length > 0 ? 1 : 0;
