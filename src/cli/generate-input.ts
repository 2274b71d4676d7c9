// The picture that `svc generate` starts from, and its mask: read before the model is, then brought to the size that is drawn.

import { readFile } from 'node:fs/promises';
import {
  coverImage,
  decodeImage,
  decodeMask,
  type ImageRequest,
  type ResolvedImageRequest,
  sameProportions,
} from '../index.ts';
import { UsageError } from './exit.ts';
import type { Given, Sources } from './generate-request.ts';

export async function readSources({ options, nameOf }: Given): Promise<Sources> {
  const { 'image-path': imagePath, 'mask-path': maskPath } = options;
  if (imagePath === undefined) return {};
  const image = await decodeImage(await read(imagePath, nameOf('image-path')), imagePath);
  if (maskPath === undefined) return { image };
  const mask = await decodeMask(await read(maskPath, nameOf('mask-path')), maskPath);
  if (!sameProportions(mask, image)) {
    throw new UsageError(
      `${nameOf('mask-path')} has ${mask.width} × ${mask.height} pixels, and the picture ${image.width} × ${image.height}: give both the same proportions`,
    );
  }
  return { image, mask };
}

async function read(path: string, name: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'is not there' : `cannot be read (${error.code})`;
    throw new UsageError(`the picture ${path} of ${name} ${reason}`);
  });
}

/** Both scaled to the size of the output, once it is known to be one; what juts out is cut off. Whole where a part of them is drawn. */
export async function fitSources(
  sources: Sources,
  { width, height }: Pick<ResolvedImageRequest, 'width' | 'height'>,
  kwargs: ImageRequest['kwargs'],
): Promise<Sources> {
  const { image, mask } = sources;
  if (image === undefined || typeof kwargs?.['padding_mask_crop'] === 'number') return sources;
  return {
    width,
    height,
    image: await coverImage(image, width, height),
    ...(mask && { mask: await coverImage(mask, width, height) }),
  };
}
