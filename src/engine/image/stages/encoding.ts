// Encodes the source image of a run, an image that is seen beside the latents, and for inpainting the mask and the masked image.

import type { Device } from '../../../gpu/device.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { scaleRows } from '../../../kernels/scale-rows.ts';
import type { Tiling } from '../../../models/image/autoencoders/autoencoder-kl.ts';
import { uploadImage } from '../blocks/autoencoder.ts';
import { computeFinite } from '../recording/compute.ts';
import { encodeClip, type GivenClip } from './clip-encoding.ts';
import { optionsFor } from './attention.ts';
import type { StageContext } from './stage-context.ts';
import type { MaskInput } from '../blocks/family.ts';
import type { ReferenceImage } from './given-images.ts';
import type { Pixels } from '../calls/image-model.ts';
import { Scope } from '../recording/scope.ts';

/** The encoded source image and the one beside it, which all samples share. */
export interface Encoded extends Disposable {
  /** Null: denoising starts from noise. */
  image: Tensor | null;
  /** The image of models that see latents of it beside those that are denoised; null: there is none. */
  beside: Tensor | null;
  /** Inputs of inpainting; null without a mask. */
  mask: {
    /** 1 where a latent is redrawn, [1, height, width, 1]; folded: 1 where a pixel is redrawn, [1, height, width, pixels of a latent]. */
    latents: Tensor;
    /** The encoded image without the masked part, for denoisers that are made for inpainting. */
    masked: Tensor | null;
    input: MaskInput | null;
  } | null;
}

/** The control image of a request, or that of its first frame; null: none. */
function besideOf({ runner, controls = [], references = [] }: StageContext): Pixels | null {
  if (samplesFrame(runner)) return references[0]?.fitted ?? null;
  return (runner.seesControl === true && controls[0]) || null;
}

/** Whether each result has a sample of the latents of a clip's first frame. */
export const samplesFrame = ({ frameImages }: Pick<StageContext['runner'], 'frameImages'>): boolean =>
  frameImages?.encoded === 'sample';

/** Whether a request has images to encode. */
export function encodesImages(context: StageContext): boolean {
  return context.image !== null || besideOf(context) !== null;
}

/** Encodes the source image and the one beside it. The encoder's weights are on the device until the function returns. */
export async function encodeGiven(context: StageContext, tiling: Tiling): Promise<Encoded> {
  const { components, autoencoder, latents, runner, image, mask } = context;
  const options = optionsFor(context, 'autoencoder');
  const { device } = components;
  using encoder = await components.load(autoencoder.component, 'encoder', autoencoder.encoder, options);
  using inputs = new Scope(device);
  const [own, beside] = [image, besideOf(context)].map((given) => {
    const upload = given && uploadImage(device, given);
    if (upload) inputs.hold(upload.bytes);
    return upload;
  });
  const input = runner.fillsMasks || null;
  const kept = mask && input ? inputs.hold(keptPixels(device, mask)) : null;
  using results = new Scope(device);
  const made = await computeFinite(device, options, 'the encoder', (tape) => {
    const x = own?.on(tape);
    const images = [x, x && kept && scaleRows(x, kept.region!), beside?.on(tape)].filter((given) => !!given);
    return images.map((given) => encoder.page(given, tiling));
  });
  made.forEach((tensor) => results.hold(tensor));
  const next = (isThere: boolean): Tensor | null => (isThere ? made.shift()! : null);
  const moments = next(image !== null);
  const masked = next(kept !== null);
  const fold = input === 'folded' ? latents.factor : 1;
  const regions = mask && {
    latents: results.hold(maskLatents(device, latents.factor, mask, fold)),
    masked,
    input,
  };
  return results.give({ image: moments, beside: next(beside !== null), mask: regions });
}

/** Latents of reference images, each [1, height, width, channels], or of a clip, [frames, height, width, channels]. */
export interface EncodedReferences extends Disposable {
  latents: readonly Tensor[];
}

/**
 * Encodes reference images, each in a size of its own, or those of a clip's frames together. Their latents are the means, as diffusers takes
 * them: no noise is drawn.
 */
export async function encodeReferences(
  context: StageContext,
  images: readonly ReferenceImage[],
  tiling: Tiling,
): Promise<EncodedReferences> {
  const { components, autoencoder, runner } = context;
  const options = optionsFor(context, 'autoencoder');
  const { device } = components;
  using encoder = await components.load(autoencoder.component, 'encoder', autoencoder.encoder, options);
  using results = new Scope(device);
  if (runner.frameImages) {
    const page = { device, autoencoder, page: encoder.page, tiling, options };
    return results.give({ latents: [results.hold(await encodeClip(page, clipOf(context, images)))] });
  }
  const latents: Tensor[] = [];
  for (const { fitted } of images) {
    using inputs = new Scope(device);
    const upload = uploadImage(device, fitted);
    inputs.hold(upload.bytes);
    const { factor, latentChannels } = autoencoder;
    const shape = [1, fitted.height / factor, fitted.width / factor, latentChannels];
    const zeros = new Float32Array(shape.reduce((product, extent) => product * extent, 1));
    const noise = inputs.hold(device.tensor('step', 'no noise', shape, zeros));
    const [made] = await computeFinite(device, options, 'the encoder', (tape) => [
      autoencoder.sample(encoder.page(upload.on(tape), tiling), noise.on(tape)),
    ]);
    latents.push(results.hold(made!));
  }
  return results.give({ latents });
}

/** The first image alone, or a clip of all, which is grey where none is given. */
function clipOf({ runner, resolved }: StageContext, images: readonly ReferenceImage[]): GivenClip {
  const { width, height, frames: count } = resolved.event.values;
  const [first, last] = images.map(({ fitted }) => fitted);
  if (runner.frameImages?.encoded === 'image') return { width, height, frames: [first!] };
  const frames = Array.from({ length: count }, (_, i) => {
    if (i === 0) return first!;
    return i === count - 1 && last ? last : null;
  });
  return { width, height, frames };
}

const isMasked = (mask: Pixels, at: number): boolean => mask.data[3 * at]! >= 128;

/** Tensor with 0 for each pixel that is redrawn: an image multiplied by it has the middle grey (0) there. */
function keptPixels(device: Device, mask: Pixels): Tensor {
  const values = Float32Array.from({ length: mask.width * mask.height }, (_, i) =>
    Number(!isMasked(mask, i)),
  );
  return device.tensor('step', 'kept pixels', [values.length], values);
}

/** Tensor with 1 where pixels are redrawn: the first `fold` rows and columns of each latent's, row by row; [1, height, width, fold²]. */
function maskLatents(device: Device, factor: number, mask: Pixels, fold: number): Tensor {
  const [height, width] = [mask.height / factor, mask.width / factor];
  const values = Float32Array.from({ length: height * width * fold ** 2 }, (_, i) => {
    const [latent, pixel] = [Math.floor(i / fold ** 2), i % fold ** 2];
    const y = Math.floor(latent / width) * factor + Math.floor(pixel / fold);
    const x = (latent % width) * factor + (pixel % fold);
    return Number(isMasked(mask, y * mask.width + x));
  });
  return device.tensor('step', 'mask', [1, height, width, fold ** 2], values);
}
