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

it('heeds the sizes of subgroups only where there are subgroups, since wgpu tells 4 to 128 in any case', () => {
  expect(capabilitiesOf([], 4, 128)).toEqual({ cpu: [1, 8], integrated: [1, 32] });
  expect(capabilitiesOf(['subgroups'], 4, 128)).toEqual({ cpu: [4, 128], integrated: [4, 128] });
  expect(capabilitiesOf(['subgroups'], 8, 8)).toEqual({ cpu: [8, 8], integrated: [8, 32] });
});

it('pins subgroups to the size of the profile only with the feature', () => {
  const pinned = (features: string[], subgroupSize: number | null): number | null => {
    const gpu = { features: new Set(features), limits: {} } as unknown as GPUDevice;
    const summary = { subgroupMinSize: 8, subgroupMaxSize: 32 } as AdapterSummary;
    return readCapabilities(gpu, { ...INTEGRATED, subgroupSize }, { summary }).subgroupSize;
  };
  expect(pinned(['subgroup-size-control'], 8)).toBe(8);
  expect(pinned(['subgroups'], 8)).toBeNull();
  expect(pinned(['subgroup-size-control'], null)).toBeNull();
});
