// A device with every feature that the probes and ceilings need, also those that the engine does not ask for, and the kernels of this folder on it.

import { readFileSync } from 'node:fs';
import { create, globals } from 'webgpu';
import { findAdapters } from '../../dist/gpu/find-adapter.js';
import { Device } from '../../dist/gpu/device.js';
import { readShader } from '../../dist/gpu/node.js';
import { preloadCachedDriver, systemHasVulkanLoader } from '../../dist/gpu/vulkan-cache.js';

const FLAGS = [
  'enable-dawn-features=allow_unsafe_apis,vulkan_enable_f16_on_nvidia,use_vulkan_memory_model,disable_robustness',
  'disable-dawn-features=lazy_clear_resource_on_first_use,timestamp_quantization',
];
const FEATURES = [
  'shader-f16',
  'subgroups',
  'timestamp-query',
  'subgroup-size-control',
  'chromium-experimental-subgroup-matrix',
];
const LIMITS = [
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupStorageSize',
];
const BUDGET = 2 ** 40;

/** The adapter that the engine takes first, with a device on it: the system's, or that of the driver in the cache. */
export async function openFully() {
  Object.assign(globalThis, globals);
  const wanted = process.env.SVC_VULKAN_DRIVER || 'system';
  const mayAsk = wanted === 'system' && (process.platform !== 'linux' || systemHasVulkanLoader());
  let found = mayAsk ? await find() : [];
  if (found.length === 0 && preloadCachedDriver() !== null) found = await find();
  if (found.length === 0) throw new Error('no GPU adapter answered');
  const [{ adapter, summary, languageFeatures }] = found;
  const gpu = await adapter.requestDevice({
    requiredFeatures: FEATURES.filter((feature) => adapter.features.has(feature)),
    requiredLimits: Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]])),
  });
  const device = new Device(gpu, { shaders: readShader, summary, languageFeatures, memoryBudget: BUDGET });
  return { device, adapter, summary, languageFeatures, others: found.slice(1).map((one) => one.summary) };
}

async function find() {
  globalThis.gpuOfCheck = create(FLAGS); // collecting it would crash the process
  return findAdapters(globalThis.gpuOfCheck);
}

/** A pipeline of a .wgsl file of this folder, or of one whose address is given from here. */
export function pipelineOf(device, file, params = {}) {
  addOwnShader(device, file);
  return device.pipeline(file, params);
}

/** Makes a .wgsl file of this folder one that tapes of the device can record. */
export function addOwnShader(device, file) {
  device.addShader(file, readFileSync(new URL(file, import.meta.url), 'utf8'));
}

/** What a pass needs to dispatch a kernel; `bound`: buffers by the names of the bindings. Arguments are u32 and f32 by name. */
export function dispatchOf(device, { gpu: pipeline, layout, shader }, { bound = {}, args = {}, groups }) {
  const entries = shader.bindings.map(({ name, index, type }) => ({
    binding: index,
    resource: type === 'uniform' ? { buffer: argsBuffer(device, shader, args) } : { buffer: bound[name] },
  }));
  return { pipeline, bindGroup: device.gpu.createBindGroup({ layout, entries }), groups };
}

const UNIFORM = 0x40 | 0x8; // UNIFORM | COPY_DST

function argsBuffer(device, shader, args) {
  const view = new DataView(new ArrayBuffer(Math.max(16, 4 * Math.ceil(shader.args.length / 4) * 4)));
  shader.args.forEach(({ name, kind }, i) => {
    if (kind === 'f32') view.setFloat32(4 * i, args[name], true);
    else view.setUint32(4 * i, args[name], true);
  });
  const buffer = device.gpu.createBuffer({ size: view.byteLength, usage: UNIFORM });
  device.gpu.queue.writeBuffer(buffer, 0, view.buffer);
  return buffer;
}
