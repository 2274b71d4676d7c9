// Decodes latents to pixels: final ones by the autoencoder's decoder, which stays on the device until it is disposed, and a step's clean latents
// for previews also by a linear map if one is known.

import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { latentColours } from '../../../kernels/latent-colours.ts';
import { scaleAndCut } from '../../../kernels/scale-and-cut.ts';
import { toPixels } from '../../../kernels/to-pixels.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import type { LeftNoise } from '../../../models/image/autoencoders/autoencoder-ltx.ts';
import { framesOf, readPixels, type Autoencoder } from '../blocks/autoencoder.ts';
import {
  allocateTensor,
  computeTurns,
  finitely,
  type ComputeOptions,
  type Turns,
} from '../recording/compute.ts';
import { optionsFor } from './attention.ts';
import type { StageContext } from './stage-context.ts';
import type { ColourMap } from './latent-colours.ts';
import type { Frames } from '../calls/image-model.ts';
import { ClipChunks } from './clip-chunks.ts';
import { Scope } from '../recording/scope.ts';
import { writeRows } from '../recording/stepper.ts';
import type { Sampled } from './sampler.ts';

export type DecoderPage = ReturnType<Autoencoder['decoder']>;

export interface Decoder extends Disposable {
  /** `own`: how this result is decoded; left out: as the decoder was opened. */
  decode(sampled: Sampled, own?: ComputeOptions): Promise<Frames>;
}

/** `tilingOf` is called when the decoder's weights are on the device; `part`: see Components.load. */
export async function openDecoder(
  context: StageContext,
  tilingOf: (page: DecoderPage) => Promise<Tiling>,
  part = 'decoder',
): Promise<Decoder> {
  const { components, autoencoder, cutTo, runner, resolved } = context;
  const options = optionsFor(context, 'autoencoder');
  const { device } = components;
  const settings = runner.leftNoise?.(resolved.call) ?? null;
  using scope = new Scope(device);
  const { page } = scope.use(
    await components.load(autoencoder.component, part, autoencoder.decoder, options),
  );
  const tiling = await tilingOf(page);
  const decode = ({ latents, left, injected }: Sampled, own = options): Promise<Frames> =>
    finitely(device, { ...own, attention: options.attention }, 'the decoder', async (way, notFinite) => {
      using inputs = new Scope(device);
      const noise = settings && left && uploadNoise(device, inputs, { settings, left, like: latents });
      const added =
        injected.length > 0 ? uploadInjected(device, inputs, injected, autoencoder, latents) : null;
      using chunks = new ClipChunks(device, latents, autoencoder, options);
      const { framesPerLatent = 1 } = autoencoder;
      const result = new PixelsRead(device, 1 + (chunks.frames - 1) * framesPerLatent);
      for (const { on, carried, ...turns } of chunks)
        await result.compute(
          way,
          (tape) =>
            Array.from(
              framesOf(
                page(on(tape), { ...tiling, carried, left: noise && noise(tape), injected: added?.(tape) }),
              ),
              (image) => toPixels(cutTo ? scaleAndCut(image, cutTo) : image, notFinite),
            ),
          turns,
        );
      return result.frames;
    });
  return scope.give({ decode });
}

interface NoiseLeft {
  settings: { time: number; share: number };
  left: Float32Array;
  like: Tensor;
}

/** Uploads noise for the decoder to remove; `scope` owns it. */
function uploadNoise(
  device: Device,
  scope: Scope,
  { settings, left, like }: NoiseLeft,
): (tape: Tape) => LeftNoise {
  const time = scope.hold(device.tensor('step', 'time of decoding', [1, 1], Float32Array.of(settings.time)));
  const noise = scope.hold(allocateTensor(device, 'noise that is left', like.shape as number[]));
  writeRows(device, noise, left);
  return (tape) => ({ time: time.on(tape), noise: noise.on(tape), share: settings.share });
}

/** Uploads noise that layers of the decoder add; `scope` owns it. */
function uploadInjected(
  device: Device,
  scope: Scope,
  injected: Sampled['injected'],
  { noiseSizes }: Autoencoder,
  latents: Tensor,
): (tape: Tape) => Tensor[] {
  const [, height, width] = latents.shape as [number, number, number];
  const sizes = noiseSizes!({ height, width });
  const maps = injected.map((values, i) => {
    const map = scope.hold(
      allocateTensor(device, 'noise of a layer', [1, sizes[i]!.height, sizes[i]!.width, 1]),
    );
    writeRows(device, map, values);
    return map;
  });
  return (tape) => maps.map((map) => map.on(tape));
}

/** Pixels of frames that are computed in several runs, each read to its place. */
class PixelsRead {
  readonly #device: Device;
  readonly #count: number;
  #size: { width: number; height: number } | null = null;
  #data = new Uint8Array(0);
  #at = 0;

  constructor(device: Device, count: number) {
    this.#device = device;
    this.#count = count;
  }

  /** Runs a recording that ends in packed pixels of frames, once or several times, and reads these back. */
  async compute(
    options: ComputeOptions,
    record: (tape: Tape) => Tensor[],
    turns: Pick<Turns, 'count' | 'bring'> = { count: 1, bring() {} },
  ): Promise<void> {
    const take: Turns['take'] = async (made) => {
      for (const bytes of made) await this.#read(bytes);
    };
    await computeTurns(this.#device, options, record, { ...turns, take });
  }

  async #read(bytes: Tensor): Promise<void> {
    const [frames, height, width] = bytes.shape as [number, number, number];
    if (this.#size === null) this.#data = new Uint8Array(3 * this.#count * width * height);
    this.#size = { width, height };
    await readPixels(this.#device, bytes, this.#data, this.#at);
    this.#at += 3 * frames * width * height;
  }

  get frames(): Frames {
    if (this.#size === null || this.#at !== this.#data.length)
      throw new Error(`${this.#at} of ${this.#data.length} bytes of ${this.#count} frames were computed`);
    return { ...this.#size, ...(this.#count > 1 && { frames: this.#count }), data: this.#data };
  }
}

/** Displays the clean latents of a step. */
export type Preview = (estimate: Tensor, step: number) => Promise<void>;

/** Returns null, and emits a note, if this model's latents cannot be displayed. */
export function previewer(context: StageContext, sample: number, tiling: Tiling): Preview | null {
  const { components, autoencoder, previews = null, colours = null, emit } = context;
  const show =
    (render: (estimate: Tensor) => Promise<Frames>): Preview =>
    async (estimate, step) =>
      emit({ type: 'preview', sample, step, image: await render(estimate) });
  if (previews !== null)
    return show((estimate) => renderDecoded({ ...context, autoencoder: previews }, {}, estimate));
  if (colours !== null) return show((estimate) => renderColours(context, colours, estimate));
  if (components.resident) {
    const decoder = { ...autoencoder, ...autoencoder.preview };
    return show((estimate) => renderDecoded({ ...context, autoencoder: decoder }, tiling, estimate));
  }
  const message =
    'there are no previews of this model: its latents have no known colours, and its decoder waits its turn';
  emit({ type: 'note', message });
  return null;
}

async function renderDecoded(context: StageContext, tiling: Tiling, estimate: Tensor): Promise<Frames> {
  const part = context.autoencoder.preview ? 'preview' : 'decoder';
  using decoder = await openDecoder(context, async () => tiling, part);
  return await decoder.decode({ latents: estimate, left: null, injected: [] });
}

async function renderColours(
  { components: { device }, options }: StageContext,
  { factors, side }: ColourMap,
  estimate: Tensor,
): Promise<Frames> {
  using scope = new Scope(device);
  const table = scope.hold(device.tensor('step', 'colours', [factors.length], factors));
  const unread = scope.hold(device.tensor('step', 'finite check', [1], new Uint32Array(1)));
  const count = estimate.shape[0] as number;
  const result = new PixelsRead(device, count);
  await result.compute(options, (tape) => [
    toPixels(latentColours(estimate.on(tape), table.region!, side), unread.region!),
  ]);
  return result.frames;
}
