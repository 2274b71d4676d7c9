// An image model as an ImageModelV3: images as PNG files, from a prompt, from images, or within a mask.

import type {
  ImageModelV3,
  ImageModelV3CallOptions,
  ImageModelV3File,
  SharedV3Warning,
} from '@ai-sdk/provider';
import type { ImageModel, ImageRequest } from '../../engine/image/calls/image-model.ts';
import { unsupported } from '../../files/error.ts';
import { encodePng } from '../../files/image/png-encode.ts';
import { bytesOf } from '../saved-chat.ts';
import { headerWarnings, ownOptions, PROVIDER, sdkError } from './ai-options.ts';

/** Most images of one call; the SDK divides what is more. */
const MOST_IMAGES = 4;

type Drawn = Awaited<ReturnType<ImageModelV3['doGenerate']>>;

export class ImageAdapter implements ImageModelV3 {
  readonly specificationVersion = 'v3';
  readonly provider = PROVIDER;
  readonly modelId: string;
  readonly maxImagesPerCall = MOST_IMAGES;
  readonly #open: () => Promise<ImageModel>;

  constructor(open: () => Promise<ImageModel>, modelId: string) {
    this.#open = open;
    this.modelId = modelId;
  }

  async doGenerate(options: ImageModelV3CallOptions): Promise<Drawn> {
    const { abortSignal: signal } = options;
    const { request, warnings } = toRequest(options);
    const images: Uint8Array[] = [];
    const seeds: number[] = [];
    try {
      const model = await this.#open();
      for await (const event of model.generate(request, signal ? { signal } : {})) {
        if (event.type !== 'image') continue;
        if ((event.image.frames ?? 1) > 1)
          throw unsupported(
            `${this.modelId} draws clips, which generateImage has no result for: use the model itself`,
          );
        images[event.sample] = await encodePng(event.image);
        seeds[event.sample] = event.seed;
      }
      signal?.throwIfAborted();
    } catch (error) {
      throw sdkError(error, signal);
    }
    return {
      images,
      warnings,
      providerMetadata: { [PROVIDER]: { images: seeds.map((seed) => ({ seed })) } },
      response: { timestamp: new Date(), modelId: this.modelId, headers: undefined },
    };
  }
}

function toRequest(options: ImageModelV3CallOptions): { request: ImageRequest; warnings: SharedV3Warning[] } {
  const { prompt = '', n, size, aspectRatio, seed, files, mask, headers, providerOptions } = options;
  const warnings = headerWarnings(headers);
  if (aspectRatio !== undefined)
    warnings.push({ type: 'unsupported', feature: 'aspectRatio', details: 'say the size: 512x768' });
  const [width, height] = size?.split('x').map(Number) ?? [];
  const [image, ...further] = (files ?? []).map(bytesOfFile);
  const request: ImageRequest = {
    prompt,
    samples: n,
    ...(width !== undefined && height !== undefined && { width, height }),
    ...(seed !== undefined && { seed }),
    ...(image && { image }),
    ...(further.length > 0 && { furtherImages: further }),
    ...(mask && { mask: bytesOfFile(mask) }),
    ...ownOptions(providerOptions),
  };
  return { request, warnings };
}

function bytesOfFile(file: ImageModelV3File): Uint8Array {
  if (file.type === 'url') throw unsupported(`an image is at ${file.url}: give its bytes`, 'files');
  return typeof file.data === 'string' ? bytesOf(file.data) : file.data;
}
