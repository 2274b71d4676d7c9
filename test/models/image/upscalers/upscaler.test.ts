// Networks that enlarge images against torch, from files in the names of several programs; and in strips against whole images.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UPSCALER, UPSCALING } from '../../../../src/engine/image/layouts/upscaler.ts';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { openComponentFile } from '../../../../src/files/pipeline/component-file.ts';
import { closeAll } from '../../../../src/files/source.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Tensor } from '../../../../src/gpu/tensor.ts';
import { readUpscaler, type UpscalerPage } from '../../../../src/models/image/upscalers/upscaler.ts';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import {
  channelsLast,
  compute,
  describeGoldens,
  expectAgreement,
  type ModuleGolden,
  openModuleGolden,
  type Values,
} from '../../image-golden.ts';

interface Opened {
  scale: number;
  className: string;
  page: UpscalerPage;
}

async function open(device: Device, { weightsPath }: ModuleGolden): Promise<Opened> {
  const folder = await openDiskFolder(weightsPath);
  const known = { layouts: undefined, text: TEXT_CLASSES, towers: [] };
  const [file] = await folder.names();
  const component = await openComponentFile(folder, file!, UPSCALER, UPSCALING[UPSCALER]!, known);
  const { className, config } = component;
  const { scale, build } = readUpscaler(className, config);
  const files = await component.weights!();
  const weights = openWeights(device, files.tensors, build, { format: null });
  await weights.load();
  await closeAll(files.sources);
  return { scale, className, page: weights.page };
}

const run = (page: UpscalerPage, x: Tensor): Tensor => page.reduce((y, part) => part.run(y), x);

describe('results equal those of torch', () => {
  describeGoldens(
    [
      'upscale-rrdb-x4',
      'upscale-rrdb-x2',
      'upscale-rrdb-x1',
      'upscale-rrdb-old',
      'upscale-compact',
      'upscale-compact-x3',
    ],
    async (golden, device, compute) => {
      const { page, scale, className } = await open(device, golden);
      const image = channelsLast(golden.inputs.get('image')!);
      const large = channelsLast(golden.outputs.get('large')!);
      expect(scale).toBe(large.shape[1]! / image.shape[1]!);
      expect(className).toBe(golden.class);
      const { values } = await compute((_, input) => [run(page, input(image))]);
      expectAgreement(values[0]!, large);
    },
  );
});

describe('rows beyond the reach of a part', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  /** Rows of an image that is higher than the golden's. */
  const tall = ({ shape, values }: Values, height: number): Values => {
    const [, own, width, channels] = shape as [number, number, number, number];
    const row = width * channels;
    const data = Float32Array.from({ length: height * row }, (_, i) => {
      const at = Math.floor(i / row) % own;
      return values[at * row + (i % row)]! * (1 - 0.5 * Math.sin(i));
    });
    return { shape: [1, height, width, channels], values: data };
  };

  const rowsOf = ({ shape, values }: Values, first: number, last: number): Values => {
    const row = shape[2]! * shape[3]!;
    return { shape: [1, last - first, ...shape.slice(2)], values: values.slice(first * row, last * row) };
  };

  it.each(['upscale-compact', 'upscale-rrdb-x4'])('change nothing to the last bit in %s', async (name) => {
    const golden = await openModuleGolden(name);
    const { page } = await open(device, golden);
    let x = tall(channelsLast(golden.inputs.get('image')!), 96);
    for (const { reach, rows, run: part } of page) {
      const compute1 = async (given: Values) =>
        (await compute(device, (_, input) => [part(input(given))])).values[0]!;
      const whole = await compute1(x);
      const height = x.shape[1]!;
      const overlap = Math.min(Math.ceil(reach / 2) * 2, height / 2);
      const strip = await compute1(rowsOf(x, 0, height / 2 + overlap));
      const row = whole.length / (height * rows);
      const kept = (height / 2) * rows * row;
      expect(strip.subarray(0, kept)).toEqual(whole.subarray(0, kept));
      // With fewer rows than it reaches, it differs.
      if (overlap < height / 2) {
        const short = await compute1(rowsOf(x, 0, height / 2));
        expect(short.subarray(0, kept)).not.toEqual(whole.subarray(0, kept));
      }
      x = { shape: [1, height * rows, x.shape[2]! * rows, row / (x.shape[2]! * rows)], values: whole };
    }
  });
});
