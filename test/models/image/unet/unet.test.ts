// UNets against diffusers: every family's configuration, sizes that do not halve evenly, several images at once.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Tensor } from '../../../../src/gpu/tensor.ts';
import { readUNetConfig } from '../../../../src/models/image/unet/unet-config.ts';
import { unet, type UNet, type UNetPrompt } from '../../../../src/models/image/unet/unet.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import {
  channelsLast,
  compute,
  describeGoldens,
  expectAgreement,
  itemOf,
  load,
  openModuleGolden,
  type ModuleGolden,
  type Values,
} from '../../image-golden.ts';

const GOLDENS = [
  'unet-sd1',
  'unet-sd1-odd',
  'unet-sd2',
  'unet-sdxl',
  'unet-lcm',
  'unet-inpaint',
  'unet-narrow',
];

const open = (device: Device, golden: ModuleGolden): Promise<UNet> =>
  load(device, golden, (weights) => unet(readUNetConfig(golden.config), weights));

type Input = (values: Values) => Tensor;

function promptOf({ inputs }: ModuleGolden, input: Input): UNetPrompt {
  const of = (name: string) => (inputs.has(name) ? input(inputs.get(name)!) : undefined);
  const pooled = of('text_embeds');
  const guidance = of('timestep_cond');
  return {
    text: of('encoder_hidden_states')!,
    ...(pooled ? { added: { pooled, ids: of('time_ids')! } } : {}),
    ...(guidance ? { guidance } : {}),
  };
}

function timeOf({ inputs }: ModuleGolden): Values {
  const { values } = inputs.get('timestep')!;
  return { shape: [values.length, 1], values };
}

describeGoldens(GOLDENS, async (golden, device, run) => {
  const model = await open(device, golden);
  const { values } = await run((_, input) => {
    const conditioning = model.condition(promptOf(golden, input));
    return [
      model.forward(input(channelsLast(golden.inputs.get('sample')!)), input(timeOf(golden)), conditioning),
    ];
  });
  expectAgreement(values[0]!, channelsLast(golden.outputs.get('sample')!));
});

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

it('two pictures at once are two pictures, bit for bit', async () => {
  const golden = await openModuleGolden('unet-sd1');
  const model = await open(device, golden);
  const picture = (of: ModuleGolden) =>
    compute(device, (_, input) => {
      const conditioning = model.condition(promptOf(of, input));
      return [model.forward(input(channelsLast(of.inputs.get('sample')!)), input(timeOf(of)), conditioning)];
    });
  const both = (await picture(golden)).values[0]!;
  for (const i of [0, 1]) {
    const inputs = new Map([...golden.inputs].map(([name, values]) => [name, itemOf(values, i)]));
    const alone = (await picture({ ...golden, inputs })).values[0]!;
    expect(alone).toEqual(both.slice(i * alone.length, (i + 1) * alone.length));
  }
});

it('tensors that no step changes may come from another tape', async () => {
  const golden = await openModuleGolden('unet-sdxl');
  const model = await open(device, golden);
  const shapes: (readonly number[])[] = [];
  const { values } = await compute(device, (_, input) => {
    const { keyValues, added } = model.condition(promptOf(golden, input));
    return [...keyValues, added!].map((tensor) => (shapes.push(tensor.shape as number[]), tensor));
  });
  const step = await compute(device, (_, input) => {
    const known = values.map((each, i) => input({ shape: shapes[i]!, values: each }));
    const conditioning = { keyValues: known.slice(0, -1), added: known.at(-1)!, guidance: null };
    return [
      model.forward(input(channelsLast(golden.inputs.get('sample')!)), input(timeOf(golden)), conditioning),
    ];
  });
  expectAgreement(step.values[0]!, channelsLast(golden.outputs.get('sample')!));
});
