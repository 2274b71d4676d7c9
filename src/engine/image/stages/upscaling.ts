// Enlarges decoded images and the frames of clips by a network, one after the other, each whole or in strips as memory allows. Where the
// network's own scale is not the one that is asked for, its result is resampled by Lanczos's filter.

import { resampleInBands } from '../../../files/image/resample.ts';
import { upscaledSize } from '../../../options/upscaled-size.ts';
import type { Frames, Pixels, Size } from '../calls/image-model.ts';
import { UPSCALER } from '../layouts/upscaler.ts';
import { Scope } from '../recording/scope.ts';
import type { StageContext } from './stage-context.ts';
import { roundUp, UpscalingNetwork } from './upscaling-network.ts';

/** Enlarges images of one size; disposing it frees the network's weights unless they stay on the device. */
export interface ImageUpscaler extends Disposable {
  upscale(image: Frames): Promise<Frames>;
  /** Adds the times of its kernels to the profile of the request. */
  profile(): Promise<void>;
}

/** Opens the network of a request that enlarges its results, for images as they are decoded. Throws out_of_memory. */
export async function openUpscaler(context: StageContext, size: Size): Promise<ImageUpscaler> {
  const { components, upscaler, options, resolved, mostEnlarged = Infinity } = context;
  const { device } = components;
  using scope = new Scope(device);
  const { page } = scope.use(await components.load(UPSCALER, 'upscaler', upscaler!.build, options));
  const { multiple, scale } = upscaler!;
  const padded = { width: roundUp(size.width, multiple), height: roundUp(size.height, multiple) };
  const network = scope.use(await UpscalingNetwork.open(device, options, page, padded));
  const { values } = resolved.event;
  const result = upscaledSize({ ...size, upscalingScale: values.upscalingScale });
  const enlarge = async (frame: Pixels): Promise<Pixels> => {
    const large = await network.compute(mirrored(frame, padded));
    const own = { width: Math.round(scale * size.width), height: Math.round(scale * size.height) };
    return resampled(corner(large, own), result);
  };
  const upscale = async (image: Frames): Promise<Frames> => {
    const { frames = 1 } = image;
    const data = new Uint8Array(3 * frames * result.width * result.height);
    for (let i = 0; i < Math.min(frames, mostEnlarged); i++) {
      const { data: made } = await enlarge(frameOf(image, i));
      data.set(made, i * made.length);
    }
    return { ...result, ...(image.frames !== undefined && { frames }), data };
  };
  return scope.give({ upscale, profile: () => network.profile() });
}

function frameOf({ width, height, data }: Frames, i: number): Pixels {
  const bytes = 3 * width * height;
  return { width, height, data: data.subarray(i * bytes, (i + 1) * bytes) };
}

/** The image with its last rows and columns mirrored behind them, up to a size. source: Real-ESRGAN's RealESRGANer.pre_process */
function mirrored(image: Pixels, { width, height }: Size): Pixels {
  if (image.width === width && image.height === height) return image;
  const data = new Uint8Array(3 * width * height);
  const at = (i: number, size: number): number => (i < size ? i : Math.max(0, 2 * size - 2 - i));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const from = 3 * (at(y, image.height) * image.width + at(x, image.width));
      data.set(image.data.subarray(from, from + 3), 3 * (y * width + x));
    }
  return { width, height, data };
}

/** The upper left part of an image. */
function corner(image: Pixels, { width, height }: Size): Pixels {
  if (image.width === width && image.height === height) return image;
  const data = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++)
    data.set(image.data.subarray(3 * y * image.width, 3 * (y * image.width + width)), 3 * y * width);
  return { width, height, data };
}

/** The image in another size; the event loop runs between bands of rows. */
async function resampled(image: Pixels, { width, height }: Size): Promise<Pixels> {
  if (image.width === width && image.height === height) return image;
  const bands = resampleInBands(image, width, height, { filter: 'lanczos' });
  for (;;) {
    const { done, value } = bands.next();
    if (done) return value;
    await new Promise((resolve) => setTimeout(resolve));
  }
}
