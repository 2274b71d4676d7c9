// Reads the input image and mask of `svc generate` before the model is opened, and later scales them to the output size.

import {
  coverImage,
  decodeImage,
  decodeMask,
  type ImageModelInfo,
  type ImageRequest,
  type Pixels,
  type ResolvedImageRequest,
  sameProportions,
} from '../../index.ts';
import { MOST_IMAGE_BYTES, readBounded } from '../process/bounded-file.ts';
import { digestOf } from './config-paths.ts';
import { UsageError } from '../process/exit.ts';
import { GENERATE_OPTIONS } from './generate-options.ts';
import type { Given, Sources } from './generate-request.ts';

/** Digests of the files that were read, by their configuration keys. */
export type Digests = Readonly<Record<string, string>>;

export async function readSources(given: Given): Promise<{ sources: Sources; digests: Digests }> {
  const { sources, digests } = await readStart(given);
  const { 'control-image': controls = [], 'ip-adapter-image': prompt } = given.options;
  const { 'control-image': controlOption, 'ip-adapter-image': promptOption } = GENERATE_OPTIONS;
  if (controls.length > 0) {
    const { images, digest } = await readImages(controls, given.nameOf('control-image'));
    Object.assign(sources, { controlImages: images });
    Object.assign(digests, { [controlOption.digestKey]: digest });
  }
  if (prompt !== undefined) {
    const { images, digest } = await readImages([prompt], given.nameOf('ip-adapter-image'));
    Object.assign(sources, { ipAdapterImage: images[0] });
    Object.assign(digests, { [promptOption.digestKey]: digest });
  }
  return { sources, digests };
}

/** The images to start from, and the mask. */
async function readStart(given: Given): Promise<{ sources: Sources; digests: Digests }> {
  const { 'image-path': imagePaths = [], 'last-image-path': lastPath, 'mask-path': maskPath } = given.options;
  const {
    'image-path': imageOption,
    'last-image-path': lastOption,
    'mask-path': maskOption,
  } = GENERATE_OPTIONS;
  const { images, digest } = await readImages(imagePaths, given.nameOf('image-path'));
  const image = images.pop(); // models that edit several take their size from the last
  if (image === undefined) return { sources: {}, digests: {} };
  const digests: Record<string, string> = { [imageOption.digestKey]: digest };
  const further: Sources = images.length > 0 ? { furtherImages: images } : {};
  if (lastPath !== undefined) {
    const last = await readImages([lastPath], given.nameOf('last-image-path'));
    Object.assign(further, { lastImage: last.images[0] });
    digests[lastOption.digestKey] = last.digest;
  }
  if (maskPath === undefined) return { sources: { image, ...further }, digests };
  const maskBytes = await read(maskPath, given.nameOf('mask-path'));
  const mask = await decodeMask(maskBytes, maskPath);
  assertSameProportions(mask, image, given);
  return {
    sources: { image, ...further, mask },
    digests: { ...digests, [maskOption.digestKey]: digestOf(maskBytes) },
  };
}

/** The images, and their digests one after the other. */
async function readImages(
  paths: readonly string[],
  name: string,
): Promise<{ images: Pixels[]; digest: string }> {
  const images: Pixels[] = [];
  let digest = '';
  for (const path of paths) {
    const bytes = await read(path, name);
    images.push(await decodeImage(bytes, path));
    digest += digestOf(bytes);
  }
  return { images, digest };
}

function assertSameProportions(mask: Pixels, image: Pixels, { nameOf }: Given): void {
  if (!sameProportions(mask, image)) {
    throw new UsageError(
      `${nameOf('mask-path')} has ${mask.width} × ${mask.height} pixels, and the image ${image.width} × ${image.height}: give both the same proportions`,
    );
  }
}

const read = (path: string, name: string): Promise<Buffer> =>
  readBounded(path, `the image ${path} of ${name}`, MOST_IMAGE_BYTES);

/**
 * Scales image and mask to cover the size of the output and crops their edges; returns them unchanged if only a part around the
 * mask is drawn, or if the model edits them in sizes of its own.
 */
export async function fitSources(
  sources: Sources,
  { width, height }: Pick<ResolvedImageRequest, 'width' | 'height'>,
  kwargs: ImageRequest['kwargs'],
  { edits }: Pick<ImageModelInfo['supports'], 'edits'>,
): Promise<Sources> {
  const { image, lastImage, mask } = sources;
  if (image === undefined || edits > 0 || typeof kwargs?.['padding_mask_crop'] === 'number') return sources;
  return {
    ...sources,
    width,
    height,
    image: await coverImage(image, width, height),
    ...(lastImage && { lastImage: await coverImage(lastImage, width, height) }),
    ...(mask && { mask: await coverImage(mask, width, height) }),
  };
}
