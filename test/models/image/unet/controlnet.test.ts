// ControlNets against diffusers: sides that do not halve evenly, other orders of colours, sizes in the time embedding.

import { expect } from 'vitest';
import type { Tensor } from '../../../../src/gpu/tensor.ts';
import { controlNet } from '../../../../src/models/image/unet/controlnet.ts';
import { readControlNetConfig } from '../../../../src/models/image/unet/controlnet-config.ts';
import {
  channelsLast,
  describeGoldens,
  expectAgreement,
  load,
  type ModuleGolden,
  type Values,
} from '../../image-golden.ts';

const GOLDENS = ['controlnet-sd1', 'controlnet-bgr', 'controlnet-sdxl'];

/** Colours of the image in the order that the network reads them. */
function ordered({ shape, values }: Values, isBgr: boolean): Values {
  if (!isBgr) return { shape, values };
  return { shape, values: values.map((_, at) => values[at - (at % 3) + 2 - (at % 3)]!) };
}

function conditions({ inputs }: ModuleGolden, input: (values: Values) => Tensor) {
  const text = input(inputs.get('encoder_hidden_states')!);
  if (!inputs.has('text_embeds')) return { text };
  return {
    text,
    added: { pooled: input(inputs.get('text_embeds')!), ids: input(inputs.get('time_ids')!) },
  };
}

describeGoldens(GOLDENS, async (golden, device, run) => {
  const config = readControlNetConfig(golden.config);
  const model = await load(device, golden, (weights) => controlNet(config, weights));
  const { inputs } = golden;
  const steps = inputs.get('timestep')!.values;
  const sample = channelsLast(inputs.get('sample')!);
  const names = [...golden.outputs.keys()];
  const { values } = await run((_, input) => {
    const image = ordered(channelsLast(inputs.get('controlnet_cond')!), config.isBgr);
    const hint = model.embed(input(image), sample.shape[0]!);
    const time = input({ shape: [steps.length, 1], values: steps });
    const { down, mid } = model.forward(
      input(sample),
      time,
      hint,
      model.condition(conditions(golden, input)),
    );
    return names.map((name) => (name === 'mid' ? mid : down[Number(name.slice('down_'.length))]!));
  });
  expect(names).toHaveLength(values.length);
  names.forEach((name, i) => expectAgreement(values[i]!, channelsLast(golden.outputs.get(name)!)));
});
