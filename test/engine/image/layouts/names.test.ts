// Names and configurations of published models in one file: names as diffusers' converters give them (scripts/reference/image_files.py),
// configurations as the models' own repositories state them.

import { describe, expect, it } from 'vitest';
import { AUTOENCODER_LAYOUTS } from '../../../../src/engine/image/layouts/autoencoder.ts';
import { causalLayouts, LATENT_STATISTICS } from '../../../../src/engine/image/layouts/causal-autoencoder.ts';
import { QWEN_IMAGE_FILES } from '../../../../src/engine/image/families/qwen-image/qwen-image-layout.ts';
import { openClip } from '../../../../src/engine/image/layouts/clip.ts';
import { UNET_LAYOUTS } from '../../../../src/engine/image/families/stable-diffusion/unet-layout.ts';
import { LUMINA2_FILES } from '../../../../src/engine/image/families/lumina2/lumina2-layout.ts';
import { LTX_AUTOENCODER_LAYOUTS } from '../../../../src/engine/image/families/ltx/autoencoder-ltx-layout.ts';
import { LTX_FILES } from '../../../../src/engine/image/families/ltx/ltx-layout.ts';
import { Z_IMAGE_FILES } from '../../../../src/engine/image/families/z-image/z-image-layout.ts';
import { findPart } from '../../../../src/files/pipeline/file-parts.ts';
import type { FileTensor } from '../../../../src/files/pipeline/float8-tensors.ts';
import {
  autoencoderKLDecoder,
  autoencoderKLEncoder,
} from '../../../../src/models/image/autoencoders/autoencoder-kl.ts';
import { readAutoencoderKLConfig } from '../../../../src/models/image/autoencoders/autoencoder-kl-config.ts';
import { ltxDecoder, ltxEncoder } from '../../../../src/models/image/autoencoders/autoencoder-ltx.ts';
import { readAutoencoderLTXConfig } from '../../../../src/models/image/autoencoders/autoencoder-ltx-config.ts';
import { ltx } from '../../../../src/models/image/clips/ltx.ts';
import { readLTXConfig } from '../../../../src/models/image/clips/ltx-config.ts';
import { unet } from '../../../../src/models/image/unet/unet.ts';
import { readUNetConfig } from '../../../../src/models/image/unet/unet-config.ts';
import { wanDecoder, wanEncoder } from '../../../../src/models/image/autoencoders/autoencoder-wan.ts';
import { readAutoencoderWanConfig } from '../../../../src/models/image/autoencoders/autoencoder-wan-config.ts';
import { qwenImage } from '../../../../src/models/image/qwen-image.ts';
import { readQwenImageConfig } from '../../../../src/models/image/qwen-image-config.ts';
import { lumina2 } from '../../../../src/models/image/lumina2.ts';
import { readLumina2Config } from '../../../../src/models/image/lumina2-config.ts';
import { zImage } from '../../../../src/models/image/z-image.ts';
import { readZImageConfig } from '../../../../src/models/image/z-image-config.ts';
import { clip } from '../../../../src/models/text/clip/clip.ts';
import { readClipConfig } from '../../../../src/models/text/clip/clip-config.ts';
import { originalLTX, originalLTXAutoencoder } from '../original-ltx.ts';
import {
  originalAutoencoder,
  originalCausal,
  originalLumina2,
  originalOpenClip,
  originalResidualCausal,
  originalUNet,
  originalZImage,
} from '../original-names.ts';
import type { StoredTensor } from '../tiny-tensors.ts';
import { expectGolden, GOLDEN, headersOf, linesOf, type Json } from './key-golden.ts';

const SD1 = {
  block_out_channels: [320, 640, 1280, 1280],
  cross_attention_dim: 768,
  attention_head_dim: 8,
};
const SDXL = {
  block_out_channels: [320, 640, 1280],
  down_block_types: ['DownBlock2D', 'CrossAttnDownBlock2D', 'CrossAttnDownBlock2D'],
  up_block_types: ['CrossAttnUpBlock2D', 'CrossAttnUpBlock2D', 'UpBlock2D'],
  transformer_layers_per_block: [1, 2, 10],
  cross_attention_dim: 2048,
  attention_head_dim: [5, 10, 20],
  addition_embed_type: 'text_time',
  addition_time_embed_dim: 256,
  projection_class_embeddings_input_dim: 2816,
};
const REFINER = {
  block_out_channels: [384, 768, 1536, 1536],
  down_block_types: ['DownBlock2D', 'CrossAttnDownBlock2D', 'CrossAttnDownBlock2D', 'DownBlock2D'],
  up_block_types: ['UpBlock2D', 'CrossAttnUpBlock2D', 'CrossAttnUpBlock2D', 'UpBlock2D'],
  transformer_layers_per_block: 4,
  cross_attention_dim: 1280,
  attention_head_dim: [6, 12, 24, 24],
  addition_embed_type: 'text_time',
  addition_time_embed_dim: 256,
  projection_class_embeddings_input_dim: 2560,
};

describe('UNets', () => {
  it.each<[string, Json]>([
    ['sd1-unet', SD1],
    ['sdxl-unet', SDXL],
    ['refiner-unet', REFINER],
  ])('%s', (golden, config) => {
    const wanted = readUNetConfig(config);
    const tensors = headersOf((table) => unet(wanted, table));
    // Stable Diffusion 1 projects by convolutions.
    const stored = originalUNet(tensors).map((tensor) =>
      golden === 'sd1-unet' && /\.proj_(in|out)\.weight$/.test(tensor.name)
        ? { ...tensor, shape: [...tensor.shape, 1, 1] }
        : tensor,
    );
    const found = expectGolden(golden, UNET_LAYOUTS[0]!, stored, 'model.diffusion_model.');
    expect(readUNetConfig(found)).toEqual(wanted);
  });
});

describe('autoencoders', () => {
  it.each([
    ['sd-vae', true, 4, 'first_stage_model.'],
    ['flux-vae', false, 16, 'vae.'],
  ] as const)('%s', (golden, quant, channels, prefix) => {
    const config = {
      block_out_channels: [128, 256, 512, 512],
      down_block_types: Array.from({ length: 4 }, () => 'DownEncoderBlock2D'),
      up_block_types: Array.from({ length: 4 }, () => 'UpDecoderBlock2D'),
      layers_per_block: 2,
      latent_channels: channels,
      use_quant_conv: quant,
      use_post_quant_conv: quant,
    };
    const wanted = readAutoencoderKLConfig(config);
    const tensors = headersOf(
      (table) => autoencoderKLDecoder(wanted, table),
      (table) => autoencoderKLEncoder(wanted, table),
    );
    const found = expectGolden(golden, AUTOENCODER_LAYOUTS[0]!, originalAutoencoder(tensors, prefix), prefix);
    expect(readAutoencoderKLConfig(found)).toEqual(wanted);
    const own = new Map([...tensors].map(([name, tensor]) => [name, tensor as unknown as FileTensor]));
    expect(readAutoencoderKLConfig(findPart(own, [AUTOENCODER_LAYOUTS[1]!])!.config)).toEqual(wanted);
  });
});

describe('text encoders of OpenCLIP', () => {
  it.each([
    ['sd2-text', 'cond_stage_model.model.', 1024, 23, null],
    ['sdxl-text-2', 'conditioner.embedders.1.model.', 1280, 32, 1280],
  ] as const)('%s', (golden, prefix, hidden, layers, projection) => {
    const className = projection === null ? 'CLIPTextModel' : 'CLIPTextModelWithProjection';
    const config = {
      hidden_size: hidden,
      intermediate_size: 4 * hidden,
      num_attention_heads: hidden / 64,
      num_hidden_layers: layers,
      hidden_act: 'gelu',
      projection_dim: projection,
    };
    const wanted = readClipConfig(config, className);
    const tensors = headersOf((table) => clip(wanted, table));
    const stored = originalOpenClip(tensors, prefix);
    const layout = openClip([prefix], projection !== null);
    if (projection !== null) {
      expect(readClipConfig(expectGolden(golden, layout, stored, prefix), className)).toEqual(wanted);
      return;
    }
    // The file has one layer more than is run, and a projection that is not used.
    expect(linesOf(layout, stored, prefix)).toHaveLength(GOLDEN[golden]!.tensors);
    const last = stored
      .filter(({ name }) => name.includes('.22.'))
      .map((tensor) => ({ ...tensor, name: tensor.name.replace('.22.', '.23.') }));
    const unused = [
      ...last,
      { ...stored[0]!, name: `${prefix}text_projection` },
      { ...stored[0]!, name: `${prefix}logit_scale` },
    ];
    expect(readClipConfig(expectGolden(golden, layout, [...stored, ...unused], prefix), className)).toEqual(
      wanted,
    );
  });
});

it('the autoencoder of Qwen-Image is read by its original names', () => {
  const { latents_mean, latents_std } = QWEN_IMAGE_FILES.configs['vae']!;
  const wanted = readAutoencoderWanConfig({ latents_mean, latents_std });
  const tensors = headersOf(
    (table) => wanDecoder(wanted, table),
    (table) => wanEncoder(wanted, table),
  );
  // Convolutions over time are in the file, and are not run for images.
  const timed = [
    'encoder.down_blocks.5',
    'encoder.down_blocks.8',
    'decoder.up_blocks.0.upsamplers.0',
    'decoder.up_blocks.1.upsamplers.0',
  ];
  const more = timed.flatMap((name) => [`${name}.time_conv.weight`, `${name}.time_conv.bias`]);
  const all = new Map([
    ...tensors,
    ...more.map((name): [string, StoredTensor] => [
      name,
      { name, dtype: 'F16', shape: [1], bytes: new Uint8Array() },
    ]),
  ]);
  const found = expectGolden(
    'qwen-vae',
    causalLayouts('AutoencoderKLQwenImage')[0]!,
    originalCausal(all, ''),
    '',
  );
  expect(readAutoencoderWanConfig({ ...found, latents_mean, latents_std })).toEqual(wanted);
});

it('the autoencoder of Wan 2.2 is read by its original names', () => {
  const published = {
    base_dim: 160,
    decoder_base_dim: 256,
    z_dim: 48,
    is_residual: true,
    in_channels: 12,
    out_channels: 12,
    patch_size: 2,
    ...LATENT_STATISTICS[48],
  };
  const wanted = readAutoencoderWanConfig(published);
  const tensors = headersOf(
    (table) => wanDecoder(wanted, table, { isClip: true }),
    (table) => wanEncoder(wanted, table, { isClip: true }),
  );
  const stored = originalResidualCausal(tensors);
  // As in the published file.
  const names = stored.map(({ name }) => name);
  for (const name of [
    'encoder.downsamples.1.downsamples.2.time_conv.weight',
    'encoder.downsamples.2.downsamples.0.shortcut.weight',
    'decoder.upsamples.0.upsamples.3.resample.1.weight',
    'decoder.upsamples.3.upsamples.2.residual.6.weight',
    'decoder.middle.1.to_qkv.weight',
  ])
    expect(names).toContain(name);
  const layouts = causalLayouts('AutoencoderKLWan');
  const renamed = linesOf(layouts[0]!, stored, '').map((line) => line.split('\t')[0]!);
  expect(renamed.toSorted()).toEqual([...tensors.keys()].toSorted());
  const found = findPart(new Map(stored.map((one) => [one.name, one as unknown as FileTensor])), layouts)!;
  expect(found.className).toBe('AutoencoderKLWan');
  expect(readAutoencoderWanConfig(found.config)).toEqual(wanted);
});

it('the transformer of Qwen-Image is read by its original names', () => {
  const wanted = readQwenImageConfig({});
  const headers = headersOf((table) => qwenImage(wanted, table));
  const stored = new Map(
    [...headers].map(([name, tensor]) => [`model.diffusion_model.${name}`, tensor as unknown as FileTensor]),
  );
  const found = findPart(stored, QWEN_IMAGE_FILES.parts['transformer']!);
  expect(readQwenImageConfig(found!.config)).toEqual(wanted);
});

it('the transformer of Z-Image is read by its original names', () => {
  const config = { n_layers: 30, n_refiner_layers: 2, axes_lens: [1536, 512, 512] };
  const wanted = readZImageConfig(config);
  const tensors = headersOf((table) => zImage(wanted, table));
  const stored = originalZImage(tensors);
  // Behind the layout of nunchaku's files, whose tensors have names of their own.
  const layout = Z_IMAGE_FILES.parts['transformer']![1]!;
  const unused = { ...stored[0]!, name: 'model.diffusion_model.norm_final.weight' };
  const found = expectGolden('z-image', layout, [...stored, unused], 'model.diffusion_model.');
  expect(readZImageConfig(found)).toEqual(wanted);
});

it('Lumina 2', () => {
  const wanted = readLumina2Config({ cap_feat_dim: 2304 });
  const stored = originalLumina2(
    headersOf((table) => lumina2(wanted, table)),
    '',
  );
  const unused = { ...stored[0]!, name: 'norm_final.weight' };
  const layout = LUMINA2_FILES.parts['transformer']![0]!;
  const found = expectGolden('lumina2', layout, [...stored, unused], '');
  expect(readLumina2Config(found)).toEqual(wanted);
});

describe('LTX-Video', () => {
  it('the transformer', () => {
    const wanted = readLTXConfig({});
    const stored = originalLTX(headersOf((table) => ltx(wanted, table)));
    const layout = LTX_FILES.parts['transformer']![0]!;
    expect(readLTXConfig(expectGolden('ltx', layout, stored, 'model.diffusion_model.'))).toEqual(wanted);
  });

  /** The configuration of LTX-Video 0.9.5, by its own repository. */
  const later = {
    block_out_channels: [128, 256, 512, 1024, 2048],
    decoder_block_out_channels: [256, 512, 1024],
    layers_per_block: [4, 6, 6, 2, 2],
    decoder_layers_per_block: [5, 5, 5, 5],
    spatio_temporal_scaling: [true, true, true, true],
    decoder_spatio_temporal_scaling: [true, true, true],
    down_block_types: Array.from({ length: 4 }, () => 'LTXVideo095DownBlock3D'),
    downsample_type: ['spatial', 'temporal', 'spatiotemporal', 'spatiotemporal'],
    upsample_residual: [true, true, true],
    upsample_factor: [2, 2, 2],
    timestep_conditioning: true,
  };

  it.each<[string, Json]>([
    ['ltx-vae', {}],
    ['ltx-vae-timed', later],
  ])('the autoencoder, %s', (golden, config) => {
    const wanted = readAutoencoderLTXConfig(config);
    const stored = originalLTXAutoencoder(
      headersOf(
        (table) => ltxDecoder(wanted, table),
        (table) => ltxEncoder(wanted, table),
      ),
    );
    const unused = { ...stored[0]!, name: 'vae.per_channel_statistics.channel' };
    const found = expectGolden(golden, LTX_AUTOENCODER_LAYOUTS[0]!, [...stored, unused], 'vae.');
    expect(readAutoencoderLTXConfig(found)).toEqual(wanted);
  });
});
