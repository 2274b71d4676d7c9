// Probes an adapter when a device is opened on it, in one dispatch: whether it converts subnormal halves, and whether its subgroups are what it
// says of them. Kernels then do without what is not as it should be.

import { unsupported } from '../files/error.ts';
import type { AdapterSummary } from './adapter.ts';
import { link, type ShaderSource } from './linker.ts';

export interface ProbedAdapter {
  /** Whether f16 numbers below 2^-14 keep their values when they become f32 and when they come from f32. */
  keepsSubnormalHalves: boolean;
  /** What is wrong with subgroups; null: nothing, or there are none. */
  subgroupProblem: string | null;
}

const INVOCATIONS = 64;
const WORDS = 5;
/** Subnormal halves: 2^-24 to 2^-15, the largest one, and the least one below zero. */
const SUBNORMALS = [...Array.from({ length: 10 }, (_, i) => 2 ** i), 0x3ff, 0x8001];
/** The least normal half, 1, -2 and the largest half. */
const NORMALS = [0x400, 0x3c00, 0xc000, 0x7bff];

/** Throws unsupported where halves that are not subnormal have wrong values, too. */
export async function probeAdapter(
  gpu: GPUDevice,
  shaders: ShaderSource,
  summary: AdapterSummary,
): Promise<ProbedAdapter> {
  const halves = Array.from(
    { length: INVOCATIONS },
    (_, i) => [...SUBNORMALS, ...NORMALS][i % (SUBNORMALS.length + NORMALS.length)]!,
  );
  const hasSubgroups = gpu.features.has('subgroups') && summary.subgroupMinSize >= 4;
  const words = await run(gpu, shaders, halves, hasSubgroups);
  const isRight = (i: number): boolean => {
    const half = halves[i]!;
    return words[WORDS * i] === floatBits(halfValue(half)) && words[WORDS * i + 1] === half;
  };
  const indices = halves.map((_, i) => i);
  const wrong = indices.find((i) => NORMALS.includes(halves[i]!) && !isRight(i));
  if (wrong !== undefined) refuse(summary, halfValue(halves[wrong]!), words[WORDS * wrong]!);
  return {
    keepsSubnormalHalves: indices.every(isRight),
    subgroupProblem: hasSubgroups ? problemOf(words, summary) : null,
  };
}

function refuse({ description, device }: AdapterSummary, value: number, bits: number): never {
  const seen = new Float32Array(Uint32Array.of(bits).buffer)[0]!;
  throw unsupported(
    `${description || device || 'the adapter'} converts the f16 number ${value} to ${seen} and back to another one: update its driver, or choose another adapter`,
  );
}

function problemOf(words: Uint32Array, { subgroupMinSize, subgroupMaxSize }: AdapterSummary): string | null {
  for (let i = 0; i < INVOCATIONS; i++) {
    const [size, lane, agrees] = words.subarray(WORDS * i + 2, WORDS * i + 5) as unknown as number[];
    if (size! < subgroupMinSize || size! > subgroupMaxSize)
      return `subgroups have ${size} lanes, and the adapter says ${subgroupMinSize} to ${subgroupMaxSize}`;
    if (lane !== i % size!) return `invocation ${i} of a workgroup is lane ${lane} of a subgroup of ${size}`;
    if (agrees !== 1) return 'operations of subgroups give values of other lanes than the named ones';
  }
  return null;
}

/** Five words for each half: see shaders/adapter-probe.wgsl. */
async function run(
  gpu: GPUDevice,
  shaders: ShaderSource,
  halves: readonly number[],
  hasSubgroups: boolean,
): Promise<Uint32Array> {
  const { code } = link(shaders, 'adapter-probe.wgsl', { SUBGROUPS: hasSubgroups ? 'four' : 'none' });
  const module = gpu.createShaderModule({ code, label: 'adapter-probe.wgsl' });
  const pipeline = gpu.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
  const size = 4 * WORDS * INVOCATIONS;
  const source = gpu.createBuffer({ size: 8 * INVOCATIONS, usage: 0x80 | 0x8 }); // STORAGE | COPY_DST
  const sink = gpu.createBuffer({ size, usage: 0x80 | 0x4 }); // STORAGE | COPY_SRC
  const staging = gpu.createBuffer({ size, usage: 0x1 | 0x8 }); // MAP_READ | COPY_DST
  try {
    const given = Uint32Array.from(halves.flatMap((half) => [half, floatBits(halfValue(half))]));
    gpu.queue.writeBuffer(source, 0, given);
    const encoder = gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = [source, sink].map((buffer, binding) => ({ binding, resource: { buffer } }));
    pass.setBindGroup(0, gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(sink, 0, staging, 0, size);
    gpu.queue.submit([encoder.finish()]);
    await staging.mapAsync(1);
    return new Uint32Array(staging.getMappedRange().slice(0));
  } finally {
    for (const buffer of [source, sink, staging]) buffer.destroy();
  }
}

/** The value of a finite half. */
function halfValue(half: number): number {
  const exponent = (half >> 10) & 31;
  const mantissa = half & 0x3ff;
  const size = exponent === 0 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** (exponent - 15);
  return half & 0x8000 ? -size : size;
}

const floatBits = (value: number): number => new Uint32Array(Float32Array.of(value).buffer)[0]!;
