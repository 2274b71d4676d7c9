// Probes of adapters: those of the tests, and the same ones disguised as adapters with the faults that real ones may have.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Device } from '../../src/gpu/device.ts';
import { probeAdapter, type ProbedAdapter } from '../../src/gpu/adapter-probe.ts';
import { readShader } from '../../src/gpu/node.ts';
import { FORMATS } from '../../src/kernels/formats.ts';
import { linear } from '../../src/kernels/matmul.ts';
import { allocateMatrix, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { packRows } from '../../src/kernels/pack.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { compute, differingRows, Random, upload } from '../kernels/compute.ts';
import { openTestDevice, TEST_BUDGET } from './test-device.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** A driver whose conversions take subnormal halves for zero. */
const FLUSHING = `
fn flushed_unpack(word: u32) -> vec2f {
  let low = select(word & 0x8000u, word & 0xffffu, (word & 0x7c00u) != 0u);
  let high = select(word & 0x80000000u, word & 0xffff0000u, (word & 0x7c000000u) != 0u);
  return unpack2x16float(low | high);
}
fn flushed_pack(values: vec2f) -> u32 {
  return pack2x16float(select(values, vec2f(0.0), abs(values) < vec2f(0x1p-14f)));
}`;

function flushing(code: string): string {
  if (code.includes('fn unpack2x16float')) return code;
  return code.replace(/\b(un)?pack2x16float\(/g, (_, un = '') => `flushed_${un}pack(`) + FLUSHING;
}

/** The adapter with a compiler that changes the text of shaders first. */
function miscompiling(change: (code: string) => string): GPUDevice {
  return new Proxy(device.gpu, {
    get(gpu, name) {
      if (name === 'createShaderModule')
        return ({ code, ...rest }: GPUShaderModuleDescriptor) =>
          gpu.createShaderModule({ ...rest, code: change(code) });
      const value: unknown = Reflect.get(gpu, name, gpu);
      return typeof value === 'function' ? value.bind(gpu) : value;
    },
  });
}

const probe = (gpu: GPUDevice): Promise<ProbedAdapter> => probeAdapter(gpu, readShader, device.summary);

async function openMiscompiling(change: (code: string) => string, probed?: ProbedAdapter): Promise<Device> {
  const gpu = miscompiling(change);
  const given = probed ?? (await probe(gpu));
  const { summary } = device;
  return new Device(gpu, { shaders: readShader, summary, probed: given, memoryBudget: TEST_BUDGET });
}

it('the adapters of the tests keep subnormal halves, and their subgroups are as they say', async () => {
  expect(await probe(device.gpu)).toEqual({ keepsSubnormalHalves: true, subgroupProblem: null });
  expect(device.probed).toEqual({ keepsSubnormalHalves: true, subgroupProblem: null });
  expect(device.capabilities.exactHalves).toBe(false);
});

const [ROWS, N, K] = [3, 32, 256];

/** A product with weights in f16 below 2^-14, packed from numbers. */
function halves(on: Device): Matrix {
  const random = new Random(5);
  const values = Uint16Array.from({ length: N * K }, () => random.integer(0x800) | (random.integer(2) << 15));
  return pack(on, 'f16', new Uint8Array(values.buffer));
}

/** One with the scales of a K-quant below 2^-14. */
function quants(on: Device): Matrix {
  const random = new Random(6);
  const blocks = Uint8Array.from({ length: (N * K * 144) / 256 }, () => random.integer(256));
  const view = new DataView(blocks.buffer);
  for (let at = 0; at < blocks.length; at += 144) {
    view.setUint16(at, 1 + random.integer(0x3ff), true);
    view.setUint16(at + 2, 1 + random.integer(0x3ff), true);
  }
  return pack(on, 'q4_k', blocks);
}

function pack(on: Device, format: 'f16' | 'q4_k', bytes: Uint8Array): Matrix {
  const [part] = stacked([{ name: 'w', rows: N }]);
  const matrix = allocateMatrix(on, FORMATS[format], K, [part!]);
  runOnce(on, (tape) =>
    packRows(tape, matrix, part!, { raw: upload(on, bytes), source: format, firstRow: 0, rows: N }),
  );
  return matrix;
}

it.each([
  ['f16', halves],
  ['q4_k', quants],
])('subnormal halves of %s are converted by integers where the adapter flushes them', async (_, weights) => {
  const x = new Random(7).floats(ROWS * K);
  const product = (on: Device): Promise<Float32Array[]> => {
    const matrix = weights(on);
    return compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (__, input) => linear(input([ROWS, K], x), matrix),
    });
  };
  const right = await product(device);
  const exact = await openMiscompiling(flushing);
  expect(exact.probed!.keepsSubnormalHalves).toBe(false);
  expect(differingRows(await product(exact), right)).toEqual([]);
  const unaware = await openMiscompiling(flushing, { keepsSubnormalHalves: true, subgroupProblem: null });
  expect(differingRows(await product(unaware), right)).toEqual([0, 1, 2]);
});

it('conversion by integers converts every half as the adapter does', async () => {
  const exact = new Device(device.gpu, {
    shaders: (path) => (path === 'all-halves.wgsl' ? ALL_HALVES : readShader(path)),
    summary: device.summary,
    probed: { keepsSubnormalHalves: false, subgroupProblem: null },
    memoryBudget: TEST_BUDGET,
  });
  const { gpu, layout, shader } = exact.pipeline('all-halves.wgsl');
  expect(shader.code).toContain('fn unpack2x16float');
  const sink = exact.allocate('step', 'sink', 8 * 0x10000);
  const encoder = exact.gpu.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(gpu);
  const entries = [{ binding: 0, resource: { buffer: sink } }];
  pass.setBindGroup(0, exact.gpu.createBindGroup({ layout, entries }));
  pass.dispatchWorkgroups(0x10000 / 64);
  pass.end();
  exact.gpu.queue.submit([encoder.finish()]);
  const bytes = await exact.read({ buffer: sink, offset: 0, size: sink.size });
  const [values, words] = [new Float32Array(bytes), new Uint32Array(bytes)];
  const isRight = (half: number): boolean => {
    const [value, back] = [values[2 * half]!, words[2 * half + 1]!];
    const [sign, size] = [half & 0x8000 ? -1 : 1, half & 0x7fff];
    const mantissa = size & 0x3ff;
    if (size > 0x7c00) return Number.isNaN(value);
    if (size === 0x7c00) return value === sign * Infinity;
    const wanted = size < 0x400 ? mantissa * 2 ** -24 : (1 + mantissa / 1024) * 2 ** ((size >> 10) - 15);
    // The middle between this half and the next is rounded to the even one; there is none beyond the largest.
    return value === sign * wanted && (size >= 0x7bff || back === half + (half & 1));
  };
  expect(Array.from({ length: 0x10000 }, (_, half) => half).filter((half) => !isRight(half))).toEqual([]);
});

/** Every half as f32, and the half that the middle between it and the next one gives. */
const ALL_HALVES = `
@group(0) @binding(0) var<storage, read_write> sink: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let values = unpack2x16float(id.x | ((id.x + 1u) << 16u));
  sink[2u * id.x] = bitcast<u32>(values.x);
  sink[2u * id.x + 1u] = pack2x16float(vec2f(values.x * 0.5 + values.y * 0.5, 0.0)) & 0xffffu;
}`;

it.runIf(process.env['SVC_VULKAN_DRIVER'] !== 'swiftshader')(
  'subgroups of other sizes than the adapter states are not used',
  async () => {
    const { lanes } = device.capabilities;
    const faults: [RegExp, (code: string) => string][] = [
      [
        /^subgroups have 64 lanes, and the adapter says/,
        (code) => code.replace('vec3u(lanes.size,', 'vec3u(64u,'),
      ],
      [
        /^invocation 0 of a workgroup is lane 1/,
        (code) => code.replace('lanes.id, u32', 'lanes.id ^ 1u, u32'),
      ],
      [/^operations of subgroups give values/, (code) => code.replace('subgroupBroadcast(i, 3u)', 'i')],
    ];
    for (const [message, change] of faults) {
      const on = await openMiscompiling(change);
      expect(on.probed!.subgroupProblem).toMatch(message);
      expect([lanes > 1, on.capabilities.lanes]).toEqual([true, 1]);
    }
  },
);

it('an adapter that converts normal halves wrongly is refused', async () => {
  const gpu = miscompiling((code) =>
    code.replace('unpack2x16float(given.x)', 'unpack2x16float(given.x + 1u)'),
  );
  await expect(probe(gpu)).rejects.toMatchObject({ code: 'unsupported' });
  await expect(probe(gpu)).rejects.toThrow(
    /converts the f16 number .*: update its driver, or choose another/,
  );
});
