// FLUX.1 in SVDQuant's files against diffusers: integers and E2M1 in 4 bits, with factors of low rank, smoothed inputs and modulation in codes.

import { expect, it } from 'vitest';
import { nunchakuNames } from '../../../src/engine/image/layouts/nunchaku-names.ts';
import { openDenoiserWeights } from '../../../src/files/pipeline/pipeline-weights.ts';
import { FLUX_FILES } from '../../../src/engine/image/families/flux/flux-layout.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { closeAll } from '../../../src/files/source.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { readFluxConfig } from '../../../src/models/image/flux-config.ts';
import { fluxRotations, fluxTextRotations } from '../../../src/models/image/flux-rope.ts';
import { flux } from '../../../src/models/image/flux.ts';
import { describeGoldens, expectAgreement } from '../image-golden.ts';

const GRID = { image: 0, rows: 4, columns: 6 };

describeGoldens(['nunchaku-int4', 'nunchaku-fp4'], async (golden, device, run) => {
  const config = readFluxConfig(golden.config);
  const opened = await openDenoiserWeights(
    openDiskFolder,
    golden.weightsPath,
    FLUX_FILES.parts['transformer']!,
  );
  const weights = openWeights(device, opened.tensors, (table) => flux(config, table), { format: null });
  await weights.load();
  await closeAll(opened.sources);
  const model = weights.page;
  const given = (name: string) => golden.inputs.get(name)!;
  const text = fluxTextRotations(config, given('text').shape[1]!);
  const image = fluxRotations(config, GRID);
  const { values } = await run((_, input) => {
    const table = (rows: readonly number[]) =>
      input({ shape: [rows.length / config.dims, config.dims], values: Float32Array.from(rows) });
    const number = (value: number) => input({ shape: [1, 1], values: Float32Array.of(value) });
    const step = {
      patches: input(given('patches')),
      time: number(640),
      guidance: number(3500),
      text: model.condition(input(given('text'))),
      pooled: input(given('pooled')),
      rotations: { text: table([...text]), image: table([...image]), both: table([...text, ...image]) },
      denoised: GRID.rows * GRID.columns,
    };
    return [model.forward(step)];
  });
  expectAgreement(values[0]!, golden.outputs.get('sample')!);
});

it('names of both versions and of three families become those of diffusers', () => {
  const rows = (name: string, ...shape: number[]) => {
    const found = nunchakuNames(name, shape);
    return typeof found === 'string' ? found : found.map((one) => `${one.name} ${one.rows?.first ?? ''}`);
  };
  const block = 'transformer_blocks.3';
  expect(rows(`${block}.qkv_proj_context.weight`, 384, 128)).toEqual([
    `${block}.attn.add_q_proj.weight 0`,
    `${block}.attn.add_k_proj.weight 128`,
    `${block}.attn.add_v_proj.weight 256`,
  ]);
  expect(rows(`single_${block}.qkv_proj.weight.down`, 16, 128)).toEqual(
    ['q', 'k', 'v'].map((part) => `single_${block}.attn.to_${part}.weight.down `),
  );
  expect(rows(`${block}.attn.to_qkv.bias`, 384)).toEqual(
    ['q', 'k', 'v'].map((part, i) => `${block}.attn.to_${part}.bias ${128 * i}`),
  );
  expect(rows('layers.1.feed_forward.net.0.proj.weight.up', 256, 16)).toEqual([
    'layers.1.feed_forward.w3.weight.up 0',
    'layers.1.feed_forward.w1.weight.up 128',
  ]);
  expect(rows(`${block}.img_mod.1.weight`, 768, 128)).toBe(`${block}.img_mod.1.weight`);
  expect(rows(`${block}.mlp_context_fc2.bias`, 128)).toBe(`${block}.ff_context.net.2.bias`);
});
