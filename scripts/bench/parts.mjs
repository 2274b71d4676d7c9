// The parts of an image below the public interface: the operations of each, and its kernels' times.

import { allocateTensor, computeTurns } from '../../dist/engine/image/recording/compute.js';
import { framesOf } from '../../dist/engine/image/blocks/autoencoder.js';
import { openComponents } from '../../dist/engine/image/components/open-components.js';
import { ClipChunks } from '../../dist/engine/image/stages/clip-chunks.js';
import { shapeOfLatents } from '../../dist/engine/image/stages/latent-shape.js';
import { writeRows } from '../../dist/engine/image/recording/stepper.js';
import { knownPipelines, pipelineEntry } from '../../dist/engine/image/families/registry.js';
import { openPipeline } from '../../dist/files/pipeline/pipeline-index.js';
import { openComponentWeights } from '../../dist/files/pipeline/pipeline-weights.js';
import { openDiskFolder } from '../../dist/files/disk/source-disk.js';
import { toPixels } from '../../dist/kernels/to-pixels.js';
import { readAutoencoderKLConfig } from '../../dist/models/image/autoencoders/autoencoder-kl-config.js';
import { readAutoencoderWanConfig } from '../../dist/models/image/autoencoders/autoencoder-wan-config.js';
import { readWanConfig } from '../../dist/models/image/clips/wan-config.js';
import { readFluxConfig } from '../../dist/models/image/flux-config.js';
import { readSD3Config } from '../../dist/models/image/sd3-config.js';
import { readUNetConfig } from '../../dist/models/image/unet/unet-config.js';
import { readZImageConfig } from '../../dist/models/image/z-image-config.js';
import { readQwenImageConfig } from '../../dist/models/image/qwen-image-config.js';
import { wanDecoderFlops, wanFlops } from './clip-flops.mjs';
import { decoderFlops, unetFlops } from './flops.mjs';
import { fluxFlops, qwenImageFlops, sd3Flops, zImageFlops } from './transformer-flops.mjs';

/** Tokens of one CLIP window, and those that T5 reads of FLUX.1's, Wan's and Stable Diffusion 3's prompts, however short they are. */
const CLIP_TOKENS = 77;
const FLUX_TOKENS = 512;
const WAN_TOKENS = 512;
const SD3_TOKENS = CLIP_TOKENS + 256;

/** Operations of one pass of a denoiser over latents, by its class; `tokens`: length of the prompt, if the denoiser reads no fixed number. */
const DENOISERS = {
  ZImageTransformer2DModel: (config, { height, width }, tokens) =>
    zImageFlops(readZImageConfig(config), height, width, tokens),
  QwenImageTransformer2DModel: (config, { height, width }, tokens) =>
    qwenImageFlops(readQwenImageConfig(config), height, width, tokens),
  FluxTransformer2DModel: (config, { height, width }) =>
    fluxFlops(readFluxConfig(config), height, width, FLUX_TOKENS),
  SD3Transformer2DModel: (config, { height, width }) =>
    sd3Flops(readSD3Config(config), height, width, SD3_TOKENS),
  UNet2DConditionModel: (config, { height, width }) =>
    unetFlops(readUNetConfig(config), height, width, CLIP_TOKENS),
  WanTransformer3DModel: (config, size) => wanFlops(readWanConfig(config), size, WAN_TOKENS),
};

/** Operations of a decoder of latents, by the class of the autoencoder. */
const DECODERS = {
  AutoencoderKL: (config, { height, width }) => decoderFlops(readAutoencoderKLConfig(config), height, width),
  AutoencoderKLWan: (config, size) => wanDecoderFlops(readAutoencoderWanConfig(config), size),
};

/**
 * Counts the forward passes of a step and the floating-point operations of a step, of the attention in it, and of the decoder at the size
 * of `values`. `tokens`: length of the prompt, if the text encoder is not CLIP.
 */
export async function countParts(folder, values, tokens) {
  const { components, family } = await openParts(folder);
  const [frames, height, width] = latentShape(family.readAutoencoder(components.vae), values);
  const size = { frames, height, width };
  const { className, config } = components[family.denoiser];
  const decode = DECODERS[components.vae.className]?.(components.vae.config, size) ?? null;
  const forwards = forwardsOf(className, config, values);
  const { step, attention } = DENOISERS[className](config, size, tokens);
  return { forwards, step: forwards * step, attention: forwards * attention, decode };
}

function forwardsOf(className, config, { guidance }) {
  if (className === 'ZImageTransformer2DModel') return guidance > 0 ? 2 : 1;
  const isDistilled =
    className === 'FluxTransformer2DModel' ||
    (className === 'UNet2DConditionModel' && readUNetConfig(config).guidanceDims !== null);
  return guidance > 1 && !isDistilled ? 2 : 1;
}

/** Kernel times of text encoding, a step and, unless `measured` leaves it out, decoding, in descending order. */
export async function profileParts(device, folder, values, prompt, measured = ['step', 'decode']) {
  const pipeline = await openParts(folder);
  const { family } = pipeline;
  const models = Object.values(pipeline.components).filter(({ kind }) => kind === 'model');
  const components = await openComponents(
    device,
    models.map(({ name }) => name),
    {
      pipeline,
      format: null,
      openWeights: (component) => openComponentWeights(component.folder),
      onProgress() {},
    },
  );
  const runner = family.open(components, pipeline);
  const autoencoder = family.readAutoencoder(components.get('vae'));
  const shape = latentShape(autoencoder, values);
  const latents = allocateTensor(device, 'latents', shape);
  const output = allocateTensor(device, 'output', shape);
  const noise = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => 4 * Math.random() - 2);
  writeRows(device, latents, noise);

  const kernels = { text: [], step: [], decode: [] };
  const into = (part) => ({
    plain: false,
    profiler: { add: async (replay) => void kernels[part].push(...(await replay())) },
  });
  const sources = { negativePrompt: 'contract' };
  const nothing = { references: [], controls: [], imagePrompt: null };
  const request = { prompt, values, sources, call: {}, calls: 1, ...nothing };
  const prepared = await runner.prepare({ ...request, options: into('text') });
  // JavaScript in Node 20 has no `using`, so resources are disposed explicitly.
  const denoiser = await prepared.load([]);
  const on = { images: 1, latents, output, extra: null, texts: prepared.texts };
  const predictor = await denoiser.record(on, { plain: false });
  await predictor.run({ inputScale: 1, timestep: 500 });
  await device.gpu.queue.onSubmittedWorkDone(); // wait until everything is compiled
  kernels.step.push(...(await predictor.times()));
  for (const one of [predictor, denoiser, prepared]) one[Symbol.dispose]();
  if (measured.includes('decode')) await profileDecoder(components, autoencoder, latents, into('decode'));
  await components.close();
  return Object.fromEntries(Object.entries(kernels).map(([part, times]) => [part, byKernel(times)]));
}

async function profileDecoder(components, autoencoder, latents, options) {
  const { device } = components;
  const flag = device.tensor('step', 'finite check', [1], new Uint32Array(1)).region;
  const decoder = await components.load('vae', 'decoder', autoencoder.decoder, {});
  const chunks = new ClipChunks(device, latents, autoencoder);
  for (const { on, carried, ...turns } of chunks)
    await computeTurns(
      device,
      options,
      (tape) => Array.from(framesOf(decoder.page(on(tape), { carried })), (image) => toPixels(image, flag)),
      { ...turns, take: async () => {} },
    );
  for (const one of [chunks, decoder]) one[Symbol.dispose]();
}

async function openParts(folder) {
  const pipeline = await openPipeline(folder, openDiskFolder, knownPipelines());
  return { ...pipeline, family: pipelineEntry(pipeline.className).family };
}

function latentShape({ factor, latentChannels, framesPerLatent }, values) {
  return shapeOfLatents({ channels: latentChannels, factor, framesPerLatent }, values);
}

function byKernel(times) {
  const kernels = new Map();
  for (const { name, dispatches, ms } of times) {
    const kernel = kernels.get(name) ?? { name, dispatches: 0, ms: 0 };
    kernels.set(name, { name, dispatches: kernel.dispatches + dispatches, ms: kernel.ms + ms });
  }
  return [...kernels.values()].sort((a, b) => b.ms - a.ms);
}
