// A device of Dawn's backend that computes nothing: it validates shaders that use features which software adapters lack.

import { create, globals } from 'webgpu';
import { PROFILES } from '../../src/gpu/adapter-profile.ts';
import { findAdapters } from '../../src/gpu/find-adapter.ts';
import { Device } from '../../src/gpu/device.ts';
import { link, type Params } from '../../src/gpu/linker.ts';
import { readShader } from '../../src/gpu/node.ts';

const BUDGET = 2 ** 34;
/** What GPUs with matrix units have at least, but for Apple's 32 KiB. */
const WORKGROUP_BYTES = 48 << 10;
/** Collecting one would end the process. */
const held: GPU[] = [];

/** With all features of the backend, the profile of discrete GPUs, and the workgroup memory of GPUs. */
export async function openNullDevice(): Promise<Device> {
  Object.assign(globalThis, globals);
  const gpu = create(['backend=null', 'enable-dawn-features=allow_unsafe_apis']);
  held.push(gpu);
  const [found] = await findAdapters(gpu);
  const { adapter, summary } = found!;
  const device = await adapter.requestDevice({
    requiredFeatures: [...adapter.features] as GPUFeatureName[],
    requiredLimits: {
      maxComputeInvocationsPerWorkgroup: adapter.limits.maxComputeInvocationsPerWorkgroup,
      maxComputeWorkgroupSizeX: adapter.limits.maxComputeWorkgroupSizeX,
      maxStorageBuffersPerShaderStage: adapter.limits.maxStorageBuffersPerShaderStage,
    },
  });
  const profile = PROFILES.find(({ name }) => name === 'discrete')!;
  const opened = new Device(device, { shaders: readShader, summary, profile, memoryBudget: BUDGET });
  opened.capabilities.workgroupBytes = WORKGROUP_BYTES;
  return opened;
}

/** Errors and warnings of a shader's text. The backend has too little workgroup memory for pipelines of GPUs' tiles. */
export async function validate({ gpu }: Device, name: string, params: Params): Promise<string[]> {
  gpu.pushErrorScope('validation');
  const shader = link(readShader, name, params);
  const compiled = gpu.createShaderModule({ code: shader.code }).getCompilationInfo();
  const [{ messages }] = await Promise.all([compiled, gpu.popErrorScope()]);
  return messages.map(({ lineNum, message }) => `${shader.locate(lineNum)}: ${message}`);
}
