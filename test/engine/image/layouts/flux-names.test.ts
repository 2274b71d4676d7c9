// Names of FLUX.1, FLUX.2, Chroma and T5 in files of other programs, at full size.

import { describe, expect, it } from 'vitest';
import { CHROMA_FILES } from '../../../../src/engine/image/families/chroma/chroma-layout.ts';
import { FLUX2_FILES, FLUX2_KLEIN_FILES } from '../../../../src/engine/image/families/flux2/flux2-layout.ts';
import { FLUX_FILES } from '../../../../src/engine/image/families/flux/flux-layout.ts';
import { T5_GGUF } from '../../../../src/engine/image/layouts/t5.ts';
import { findPart } from '../../../../src/files/pipeline/file-parts.ts';
import type { FileTensor } from '../../../../src/files/pipeline/float8-tensors.ts';
import { chroma } from '../../../../src/models/image/chroma.ts';
import { readChromaConfig } from '../../../../src/models/image/chroma-config.ts';
import { flux2 } from '../../../../src/models/image/flux2.ts';
import { readFlux2Config } from '../../../../src/models/image/flux2-config.ts';
import { flux } from '../../../../src/models/image/flux.ts';
import { readFluxConfig } from '../../../../src/models/image/flux-config.ts';
import { t5 } from '../../../../src/models/text/t5/t5.ts';
import { readT5Config } from '../../../../src/models/text/t5/t5-config.ts';
import { ggufT5, originalFlux } from '../original-flux.ts';
import { expectGolden, headersOf, type Json } from './key-golden.ts';

describe('FLUX.1', () => {
  const [original, diffusers] = FLUX_FILES.parts['transformer']!;

  it.each([
    ['dev', { guidance_embeds: true }, 'FluxPipeline'],
    ['Fill', { guidance_embeds: true, in_channels: 384, out_channels: 64 }, 'FluxFillPipeline'],
    ['Canny', { guidance_embeds: true, in_channels: 128, out_channels: 64 }, 'FluxControlPipeline'],
  ])('%s', async (_, config, className) => {
    const wanted = readFluxConfig(config);
    const stored = originalFlux(headersOf((table) => flux(wanted, table)));
    const found = expectGolden('flux', original!, stored, 'model.diffusion_model.');
    expect(readFluxConfig(found)).toEqual(wanted);
    const parts = { transformer: { className: 'FluxTransformer2DModel', config: found } };
    const file = { name: '', metadata: {}, headers: new Map(), values: () => Promise.resolve(null) };
    expect(await FLUX_FILES.describe(parts, file)).toMatchObject({ className });
  });

  it('with the names of diffusers', () => {
    const wanted = readFluxConfig({ in_channels: 64 });
    const stored = [...headersOf((table) => flux(wanted, table)).values()];
    const found = findPart(
      new Map(stored.map((tensor) => [`transformer.${tensor.name}`, tensor as unknown as FileTensor])),
      [diffusers!],
    );
    expect(readFluxConfig(found!.config)).toEqual(wanted);
  });
});

describe('FLUX.2 and Chroma', () => {
  const EMPTY = { name: '', metadata: {}, headers: new Map(), values: () => Promise.resolve(null) };
  const partOf = (config: Json) => ({ transformer: { className: 'Flux2Transformer2DModel', config } });

  it('FLUX.2 dev', () => {
    const wanted = readFlux2Config({});
    const stored = originalFlux(
      headersOf((table) => flux2(wanted, table)),
      '',
    );
    const found = expectGolden('flux2', FLUX2_FILES.parts['transformer']![0]!, stored, '');
    expect(readFlux2Config(found)).toEqual(wanted);
    expect(FLUX2_FILES.accepts(partOf(found).transformer)).toBe(true);
    expect(FLUX2_KLEIN_FILES.accepts(partOf(found).transformer)).toBe(false);
  });

  it('a file of klein whose name has no word base is that of the distilled model', async () => {
    const config = { guidance_embeds: false };
    expect(FLUX2_FILES.accepts(partOf(config).transformer)).toBe(false);
    const named = (name: string) => FLUX2_KLEIN_FILES.describe(partOf(config), { ...EMPTY, name });
    expect(await named('flux-2-klein-4b')).toMatchObject({ settings: { is_distilled: true } });
    expect(await named('flux-2-klein-base-4b')).toMatchObject({ settings: { is_distilled: false } });
  });

  it('Chroma', () => {
    const wanted = readChromaConfig({});
    const stored = originalFlux(headersOf((table) => chroma(wanted, table)));
    const layout = CHROMA_FILES.parts['transformer']![0]!;
    const found = expectGolden('chroma', layout, stored, 'model.diffusion_model.');
    expect(readChromaConfig(found)).toEqual(wanted);
  });
});

it('the encoder of T5 in a GGUF file has the names of transformers', () => {
  const wanted = readT5Config({
    d_model: 4096,
    d_ff: 10240,
    num_layers: 24,
    num_heads: 64,
    feed_forward_proj: 'gated-gelu',
  });
  const stored = ggufT5(headersOf((table) => t5(wanted, table)));
  const found = expectGolden('t5', T5_GGUF, stored, '');
  expect(readT5Config(found)).toEqual(wanted);
});
