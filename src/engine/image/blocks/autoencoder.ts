// The autoencoder between images and latents: what it encodes and decodes, and the noise that is drawn for latents.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { sampleLatents, scaleLatents, unscaleLatents, type LatentScales } from '../../../kernels/latents.ts';
import { fromPixels } from '../../../kernels/from-pixels.ts';
import {
  autoencoderDCDecoder,
  autoencoderDCEncoder,
} from '../../../models/image/autoencoders/autoencoder-dc.ts';
import { readAutoencoderDCConfig } from '../../../models/image/autoencoders/autoencoder-dc-config.ts';
import {
  autoencoderKLDecoder,
  autoencoderKLEncoder,
} from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { hunyuanDecoder, hunyuanEncoder } from '../../../models/image/autoencoders/autoencoder-hunyuan.ts';
import { readAutoencoderHunyuanConfig } from '../../../models/image/autoencoders/autoencoder-hunyuan-config.ts';
import {
  ltxDecoder,
  ltxEncoder,
  ltxNoiseSizes,
  type LTXDecoding,
} from '../../../models/image/autoencoders/autoencoder-ltx.ts';
import { readAutoencoderLTXConfig } from '../../../models/image/autoencoders/autoencoder-ltx-config.ts';
import {
  readAutoencoderKLConfig,
  readAutoencoderKLFlux2Config,
} from '../../../models/image/autoencoders/autoencoder-kl-config.ts';
import {
  autoencoderKLFlux2Decoder,
  autoencoderKLFlux2Encoder,
} from '../../../models/image/autoencoders/autoencoder-kl-flux2.ts';
import {
  wanDecoder,
  wanEncoder,
  type ChunkOptions,
} from '../../../models/image/autoencoders/autoencoder-wan.ts';
import { readAutoencoderWanConfig } from '../../../models/image/autoencoders/autoencoder-wan-config.ts';
import {
  autoencoderTinyDecoder,
  autoencoderTinyEncoder,
} from '../../../models/image/autoencoders/autoencoder-tiny.ts';
import { readAutoencoderTinyConfig } from '../../../models/image/autoencoders/autoencoder-tiny-config.ts';
import { taehvDecoder } from '../../../models/image/autoencoders/taehv.ts';
import { readTaehvConfig } from '../../../models/image/autoencoders/taehv-config.ts';
import type { Json } from '../../../models/config-values.ts';
import type { PipelineComponent } from '../../../files/pipeline/pipeline-index.ts';
import type { WeightTable } from '../../../models/weights.ts';
import type { Pixels, Size } from '../calls/image-model.ts';

export type DecodeOptions = ChunkOptions & LTXDecoding;

/** An image, or the frames of a clip, each of which is recorded when it is asked for. */
export type Decoded = Tensor | Iterable<Tensor>;

/** The frames of what was decoded; of an image itself. */
export const framesOf = (decoded: Decoded): Iterable<Tensor> =>
  Symbol.iterator in decoded ? decoded : [decoded];

/** The parts of an autoencoder of any class that a pipeline uses. */
export interface Autoencoder {
  /** Component that holds its weights. */
  component: string;
  latentChannels: number;
  /** Pixels along one side of a latent. */
  factor: number;
  scales: LatentScales;
  /** Frames of a clip that a latent frame after the first stands for; left out: it has images only. */
  framesPerLatent?: number;
  /** Whether it computes clips whole, on a tape that holds few of their frames at a time; left out: in chunks that share what is carried. */
  streams?: true;
  /** Whether frames see all earlier ones, so that each chunk is recorded for itself; left out: those after the first are one recording. */
  seesAllFrames?: true;
  /** Whether it has no encoder that is built in. */
  decodesOnly?: true;
  /** How previews are decoded, where that takes less than the result; left out: like the result. */
  preview?: Pick<Autoencoder, 'decoder' | 'framesPerLatent'>;
  /** Sizes of the noise that layers of its decoder add, for latents of a size; left out: they add none. */
  noiseSizes?(latents: Size): readonly Size[];
  /** Whether its decoder removes noise that is left in latents, and is told how much. */
  removesNoise?: boolean;
  /**
   * Latents of the denoiser [1, h, w, c] → images in −1 … 1 [1, factor · h, factor · w, 3]; of a clip [frames, …] → frames, one by one, in
   * chunks that share what is carried
   */
  decoder(weights: WeightTable): (latents: Tensor, options: DecodeOptions) => Decoded;
  /** Images in −1 … 1, or a clip in chunks that share what is carried → encoder output, from which `sample` makes latents */
  encoder(weights: WeightTable): (image: Tensor, options: ChunkOptions) => Tensor;
  /** Whether it can work in strips. */
  tiles: boolean;
  /** Whether `sample` uses noise. */
  samples: boolean;
  /** The encoder's output and noise [1, h, w, c] → latents of the denoiser [1, h, w, c] */
  sample(encoded: Tensor, noise: Tensor): Tensor;
}

/** The parts of an autoencoder that follow from its configuration. */
type Declared = Omit<Autoencoder, 'component'>;

/** The scales of pages that turn their latents into the denoiser's form themselves. */
const AS_THEY_ARE: LatentScales = [{ scale: 1, shift: 0 }];

/** Autoencoders by their classes. Each throws bad_checkpoint and unsupported. */
const CLASSES: Readonly<Record<string, (json: Json, file: string, isClip: boolean) => Declared>> = {
  AutoencoderKL(json, file) {
    const config = readAutoencoderKLConfig(json, file);
    return {
      ...declared(config, config.channels.length, autoencoderKLDecoder, autoencoderKLEncoder),
      samples: true,
      sample: (moments, noise) => sampleLatents(moments, noise, config.scales),
    };
  },
  AutoencoderTiny(json, file) {
    const config = readAutoencoderTinyConfig(json, file);
    const levels = config.decoder.blocks.length;
    return { ...declared(config, levels, autoencoderTinyDecoder, autoencoderTinyEncoder), tiles: false };
  },
  AutoencoderKLQwenImage: causal,
  AutoencoderKLWan: causal,
  AutoencoderKLLTXVideo(json, file) {
    const config = readAutoencoderLTXConfig(json, file);
    const { latentChannels, factor, framesPerLatent } = config;
    return {
      latentChannels,
      factor,
      scales: AS_THEY_ARE,
      framesPerLatent,
      streams: true,
      removesNoise: config.decoder.isTimed,
      noiseSizes: (latents) => ltxNoiseSizes(config, latents),
      tiles: true,
      samples: true,
      decoder: (weights) => ltxDecoder(config, weights),
      encoder: (weights) => ltxEncoder(config, weights),
      sample: (moments, noise) => sampleLatents(moments, noise, AS_THEY_ARE),
    };
  },
  AutoencoderKLHunyuanVideo15(json, file) {
    const config = readAutoencoderHunyuanConfig(json, file);
    const { channels, framesPerLatent, scales } = config;
    return {
      ...declared(config, channels.length, hunyuanDecoder, hunyuanEncoder),
      framesPerLatent,
      seesAllFrames: true,
      samples: true,
      sample: (moments, noise) => sampleLatents(moments, noise, scales),
    };
  },
  TAEHV(json, file) {
    const config = readTaehvConfig(json, file);
    const { latentChannels, factor, framesPerLatent } = config;
    return {
      latentChannels,
      factor,
      scales: AS_THEY_ARE,
      framesPerLatent,
      tiles: false,
      samples: false,
      decodesOnly: true,
      decoder: (weights) => taehvDecoder(config, weights),
      preview: {
        framesPerLatent: 1,
        decoder: (weights) => taehvDecoder(config, weights, { lastOnly: true }),
      },
      encoder: refuseEncoding,
      sample: (latents) => latents,
    };
  },
  AutoencoderDC(json, file) {
    const config = readAutoencoderDCConfig(json, file);
    return declared(config, config.encoder.length, autoencoderDCDecoder, autoencoderDCEncoder);
  },
  /** The page itself turns its latents into the denoiser's form, so that nothing is scaled or shifted here. */
  AutoencoderKLFlux2(json, file) {
    const config = readAutoencoderKLFlux2Config(json, file);
    const { latentChannels, patch, channels, scales } = config;
    return {
      latentChannels: patch ** 2 * latentChannels,
      factor: patch * 2 ** (channels.length - 1),
      scales,
      tiles: true,
      samples: false,
      decoder: (weights) => autoencoderKLFlux2Decoder(config, weights),
      encoder: (weights) => autoencoderKLFlux2Encoder(config, weights),
      sample: (latents) => unscaleLatents(latents, scales),
    };
  },
};

function refuseEncoding(): never {
  throw new Error('requests with images are refused where the autoencoder decodes only');
}

/** An autoencoder whose convolutions are causal in time. */
function causal(json: Json, file: string, isClip: boolean): Declared {
  const config = readAutoencoderWanConfig(json, file);
  const decoder = (of: typeof config, weights: WeightTable) => wanDecoder(of, weights, { isClip });
  const encoder = (of: typeof config, weights: WeightTable) => wanEncoder(of, weights, { isClip });
  const plain = declared(config, config.channels.length, decoder, encoder);
  return {
    ...plain,
    factor: config.patch * plain.factor,
    ...(isClip && { framesPerLatent: config.framesPerLatent }),
    samples: true,
    sample: (moments, noise) => sampleLatents(moments, noise, config.scales),
  };
}

/** An autoencoder that halves the sides of images between its `levels`, and whose encoder gives latents. */
function declared<C extends { latentChannels: number; scales: LatentScales }>(
  config: C,
  levels: number,
  decoder: (config: C, weights: WeightTable) => ReturnType<Autoencoder['decoder']>,
  encoder: (config: C, weights: WeightTable) => ReturnType<Autoencoder['encoder']>,
): Declared {
  const { latentChannels, scales } = config;
  return {
    latentChannels,
    factor: 2 ** (levels - 1),
    scales,
    tiles: true,
    samples: false,
    decoder(weights) {
      const decode = decoder(config, weights);
      return (latents, tiling) => decode(unscaleLatents(latents, scales), tiling);
    },
    encoder: (weights) => encoder(config, weights),
    sample: (latents) => scaleLatents(latents, scales),
  };
}

/**
 * Returns the autoencoder of a component according to its class and configuration. `isClip`: for clips, where its class has convolutions over
 * time. Throws bad_checkpoint and unsupported.
 */
export function readAutoencoder(
  { name: component, className, config }: Pick<PipelineComponent, 'name' | 'className' | 'config'>,
  { isClip = false } = {},
): Autoencoder {
  const read = CLASSES[className] ?? CLASSES['AutoencoderKL']!;
  return { component, ...read(config, `${component}/config.json`, isClip) };
}

/** Uploads an image; `on` returns it on a tape in −1 … 1, [1, height, width, 3]. */
export function uploadImage(device: Device, image: Pixels): { bytes: Tensor; on(tape: Tape): Tensor } {
  const { width, height } = image;
  const bytes = device.tensor('step', 'image bytes', [1, height, width], pixelWords(image));
  return { bytes, on: (tape) => fromPixels(bytes.on(tape)) };
}

/** Pixels as one word each, the first colour in its lowest byte. */
export function pixelWords({ width, height, data }: Pixels): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(width * height);
  for (let i = 0; i < words.length; i++)
    words[i] = data[3 * i]! | (data[3 * i + 1]! << 8) | (data[3 * i + 2]! << 16);
  return words;
}

/** Reads packed pixels [frames, height, width] back from the device, into colours from `at` on. */
export async function readPixels(device: Device, bytes: Tensor, data: Uint8Array, at: number): Promise<void> {
  const [frames, height, width] = bytes.shape as [number, number, number];
  const words = new Uint32Array(await device.read(bytes.region!));
  for (let y = 0; y < frames * height; y++) {
    for (let x = 0; x < width; x++) {
      const word = words[y * bytes.stride + x]!;
      data[at++] = word & 255;
      data[at++] = (word >> 8) & 255;
      data[at++] = (word >> 16) & 255;
    }
  }
}

/** Values in torch's order [channels, frames, height, width] → [frames, height, width, channels]. */
export function channelsLast(values: Float32Array, channels: number): Float32Array {
  const pixels = values.length / channels;
  const out = new Float32Array(values.length);
  for (let c = 0; c < channels; c++)
    for (let p = 0; p < pixels; p++) out[p * channels + c] = values[c * pixels + p]!;
  return out;
}
