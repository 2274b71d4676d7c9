// Whether a device makes pipelines whose subgroups have a required size (`subgroup-size-control`). The range of sizes that an adapter tells is wider
// than what some drivers take: those of Direct3D refuse 8 lanes on GPUs of Intel whose least subgroup has 8. WebGPU then has no other sign than
// the error. Source: gpuweb's proposal subgroup-size-control.md.

import type { AdapterSummary } from './adapter.ts';
import { profileOf } from './adapter-profile.ts';
import { PINNED_INVOCATIONS } from './capabilities.ts';

/** Returns the summary, without the feature if the device refuses the size that the adapter's profile wants. */
export async function withoutRefusedSizes(gpu: GPUDevice, summary: AdapterSummary): Promise<AdapterSummary> {
  const { subgroupSize } = profileOf(summary);
  if (subgroupSize === null || (await takesSize(gpu, subgroupSize))) return summary;
  return { ...summary, features: summary.features.filter((name) => name !== 'subgroup-size-control') };
}

async function takesSize(gpu: GPUDevice, size: number): Promise<boolean> {
  if (!gpu.features.has('subgroup-size-control')) return false;
  const code = `enable subgroup_size_control;
@compute @workgroup_size(${PINNED_INVOCATIONS}) @subgroup_size(${size})
fn main() {}`;
  gpu.pushErrorScope('validation');
  const module = gpu.createShaderModule({ code, label: 'subgroup size probe' });
  const made = gpu.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } });
  const [pipeline, error] = await Promise.allSettled([made, gpu.popErrorScope()]);
  return pipeline.status === 'fulfilled' && error.status === 'fulfilled' && error.value === null;
}
