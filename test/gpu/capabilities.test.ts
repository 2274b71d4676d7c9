// Capabilities of devices that are not there, by what WebGPU tells of them.

import { expect, it } from 'vitest';
import { CPU, INTEGRATED } from '../../src/gpu/adapter-profile.ts';
import type { AdapterSummary } from '../../src/gpu/adapter.ts';
import { readCapabilities } from '../../src/gpu/capabilities.ts';

function capabilitiesOf(features: string[], subgroupMinSize: number, subgroupMaxSize: number) {
  const gpu = { features: new Set(features), limits: {} } as unknown as GPUDevice;
  const summary = { subgroupMinSize, subgroupMaxSize } as AdapterSummary;
  const of = (profile: typeof CPU): number[] => {
    const { lanes, columnLanes } = readCapabilities(gpu, profile, { summary });
    return [lanes, columnLanes];
  };
  return { cpu: of(CPU), integrated: of(INTEGRATED) };
}

it('the capabilities have sizes of subgroups only with subgroups, since wgpu states 4 to 128 in any case', () => {
  expect(capabilitiesOf([], 4, 128)).toEqual({ cpu: [1, 8], integrated: [1, 32] });
  expect(capabilitiesOf(['subgroups'], 4, 128)).toEqual({ cpu: [4, 128], integrated: [4, 128] });
  expect(capabilitiesOf(['subgroups'], 8, 8)).toEqual({ cpu: [8, 8], integrated: [8, 32] });
});

it('the capabilities pin subgroups only with the feature, in workgroups of a bounded size', () => {
  const pinned = (features: string[], subgroupSize: number | null) => {
    const limits = { maxComputeInvocationsPerWorkgroup: 1024 };
    const gpu = { features: new Set(features), limits } as unknown as GPUDevice;
    const summary = { subgroupMinSize: 8, subgroupMaxSize: 32 } as AdapterSummary;
    const capabilities = readCapabilities(gpu, { ...INTEGRATED, subgroupSize }, { summary });
    return [capabilities.subgroupSize, capabilities.maxInvocations];
  };
  expect(pinned(['subgroup-size-control'], 8)).toEqual([8, 256]);
  expect(pinned(['subgroups'], 8)).toEqual([null, 1024]);
  expect(pinned(['subgroup-size-control'], null)).toEqual([null, 1024]);
});
