// Subgroups of a required size: what devices are asked for, and what follows where a driver refuses the size that the adapter told.

import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { profileOf } from '../../src/gpu/adapter-profile.ts';
import type { AdapterSummary } from '../../src/gpu/adapter.ts';
import type { Device } from '../../src/gpu/device.ts';
import { requestDevice } from '../../src/gpu/find-adapter.ts';
import { readShader } from '../../src/gpu/node.ts';
import { withoutRefusedSizes } from '../../src/gpu/pinned-subgroups.ts';
import { disguise, openTestDevice } from './test-device.ts';

const ARC: AdapterSummary = {
  index: 0,
  ...{ vendor: 'intel', architecture: 'gen-12hp', device: '', description: '', software: false },
  ...{ features: ['subgroup-size-control', 'subgroups'], limits: {} },
  ...{ subgroupMinSize: 8, subgroupMaxSize: 32, matrixUnit: 'none' },
};

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([[['subgroup-size-control', 'shader-f16']], [['shader-f16']]])(
  'requestDevice() asks for the feature if the adapter has it: %j',
  async (has) => {
    const asked: string[] = [];
    const adapter = {
      features: new Set(has),
      limits: {},
      requestDevice: ({ requiredFeatures = [] }: GPUDeviceDescriptor) => asked.push(...requiredFeatures),
    };
    await requestDevice(adapter as unknown as GPUAdapter);
    expect(asked.sort()).toEqual(has.toSorted());
  },
);

describe('a device with pinned subgroups', () => {
  it('leaves the summary as it is if it makes such pipelines', async () => {
    const told = await withoutRefusedSizes(device.gpu, ARC); // wants 8 lanes
    expect(told.features).toEqual(device.summary.subgroupMinSize === 8 ? ARC.features : ['subgroups']);
    expect(device.takeError()).toBeNull();
  });

  it('counts as one that cannot pin subgroups if it refuses the size', async () => {
    const told = { ...ARC, architecture: '', subgroupMinSize: 16 }; // wants 16 lanes, which no software adapter has
    expect(profileOf(told).subgroupSize).toBe(16);
    const left = await withoutRefusedSizes(device.gpu, told);
    expect(left).toEqual({ ...told, features: ['subgroups'] });
    expect(profileOf(left)).toMatchObject({ family: 'intel-xe2', subgroupSize: null });
    expect(device.takeError()).toBeNull();
  });
});

it('kernels that fill the registers get the attribute, others do not', () => {
  const size = device.summary.subgroupMinSize;
  const code = (name: string, params = {}) =>
    disguise(device, { profile: 'discrete', family: 'intel-xe-hpg' }).link(name, params).code;
  const product = { W: 'f16', MATRIX: 'one', STORE: 'set', ACTIVATION: 'none', BIAS: 'none' };
  expect(code('gemm.wgsl', product)).toContain(`@compute @subgroup_size(${size}) @workgroup_size(LANES)`);
  expect(code('rmsnorm.wgsl', { PICK: 'all', MODULATE: 'none', AFFINE: 'weight' })).not.toContain(
    '@subgroup_size',
  );
  expect(disguise(device, { profile: 'discrete' }).link('gemm.wgsl', product).code).not.toContain(
    '@subgroup_size',
  );
});

/** Invocations along x of a kernel's workgroup: a product of numbers and of constants of its text, which may be products, too. */
function widthOf(text: string): number {
  const valueOf = (product: string): number =>
    product.split('*').reduce((value, factor) => {
      const name = factor.trim();
      const number = /^(\d+)u?$/.exec(name)?.[1];
      if (number !== undefined) return value * Number(number);
      const meaning = new RegExp(`^const ${name} = ([^;]+);`, 'm').exec(text)?.[1];
      return meaning === undefined ? NaN : value * valueOf(meaning);
    }, 1);
  return valueOf(/@workgroup_size\(([^,)]+)/.exec(text)?.[1] ?? '');
}

it('kernels that fill the registers have workgroups of a multiple of 32 lanes', () => {
  const full = readdirSync(new URL('../../shaders', import.meta.url))
    .filter((name) => name.endsWith('.wgsl'))
    .map((name) => {
      const text = readShader(name);
      const imports = [...text.matchAll(/^#import "([^"$]+)"/gm)].map(([, path]) => readShader(path!));
      return { name, text: [text, ...imports].join('\n') };
    })
    .filter(({ text }) => text.includes('const FILLS_REGISTERS = true;'));
  expect(full.map(({ name }) => name)).toEqual(expect.arrayContaining(['gemm.wgsl', 'matvec.wgsl']));
  for (const { name, text } of full) expect([name, widthOf(text) % 32]).toEqual([name, 0]);
});
