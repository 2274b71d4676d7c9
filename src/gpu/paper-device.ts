// A device that allocates, links and records, but computes nothing. It measures the memory of a model without opening a GPU.

import type { AdapterSummary } from './adapter.ts';
import { INTEGRATED } from './adapter-profile.ts';
import { Device, type DeviceSettings } from './device.ts';

/** Limits that recent discrete and integrated GPUs reach with Dawn. */
const LIMITS = {
  maxStorageBufferBindingSize: 2 ** 31 - 4,
  maxBufferSize: 2 ** 31 - 4,
  maxComputeWorkgroupsPerDimension: 65535,
  maxComputeInvocationsPerWorkgroup: 1024,
  maxComputeWorkgroupStorageSize: 32768,
  maxStorageBuffersPerShaderStage: 10,
};
const FEATURES = ['shader-f16', 'subgroups', 'timestamp-query'];

const SUMMARY: AdapterSummary = {
  index: 0,
  vendor: '',
  architecture: '',
  device: 'none',
  description: 'a GPU that is assumed',
  software: false,
  features: FEATURES,
  limits: LIMITS,
  subgroupMinSize: 32,
  subgroupMaxSize: 32,
  matrixUnit: 'none is assumed',
};

/** `like`: the adapter whose limits and features are assumed. */
export function openPaperDevice({
  like = SUMMARY,
  ...settings
}: Pick<DeviceSettings, 'shaders' | 'memoryBudget' | 'hostBudget' | 'profile' | 'bindingLimit'> & {
  like?: AdapterSummary;
}): Device {
  const profile = settings.profile ?? (like === SUMMARY ? INTEGRATED : undefined);
  return new Device(paperGpu(like), { ...settings, ...(profile && { profile }), summary: like });
}

/** A device that computes nothing with the properties of another, to measure what that would take. */
export function openPaperTwin(device: Device, memoryBudget: number, hostBudget = device.host.budget): Device {
  const { summary, profile, tuning } = device;
  const { bindingLimit, lanes, matrixUnit } = device.capabilities;
  const twin = new Device(paperGpu(summary), {
    shaders: (path) => device.shaderText(path),
    ...{ summary, profile, tuning, memoryBudget, bindingLimit, hostBudget },
    portable: lanes === 1,
  });
  twin.capabilities.matrixUnit = matrixUnit;
  return twin;
}

/** The methods of WebGPU that recording uses; none has an effect. */
function paperGpu({ limits, features }: AdapterSummary): GPUDevice {
  const none = (): void => {};
  const object = (): object => ({});
  const pass = {
    setPipeline: none,
    setBindGroup: none,
    dispatchWorkgroups: none,
    dispatchWorkgroupsIndirect: none,
    end: none,
  };
  const encoder = {
    clearBuffer: none,
    copyBufferToBuffer: none,
    beginComputePass: () => pass,
    finish: object,
  };
  const gpu = {
    limits,
    features: new Set(features),
    lost: new Promise(none),
    queue: { submit: none, writeBuffer: none, onSubmittedWorkDone: () => Promise.resolve() },
    addEventListener: none,
    pushErrorScope: none,
    popErrorScope: () => Promise.resolve(null),
    // Reading back gives zeros, which say of a result that it is finite.
    createBuffer: ({ size }: GPUBufferDescriptor) => ({
      size,
      destroy: none,
      unmap: none,
      mapAsync: () => Promise.resolve(),
      getMappedRange: () => new ArrayBuffer(size),
    }),
    createShaderModule: object,
    createBindGroupLayout: object,
    createPipelineLayout: object,
    createComputePipeline: object,
    createBindGroup: object,
    createCommandEncoder: () => encoder,
    destroy: none,
  };
  return gpu as unknown as GPUDevice;
}
