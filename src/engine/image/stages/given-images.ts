// The source image of a request and its mask, in their original size and in the size that is drawn.

import { coverImage } from '../../../files/image/cover.ts';
import { resample } from '../../../files/image/resample.ts';
import type { PipelineSet } from '../blocks/family.ts';
import type { CompleteImageRequest, Pixels, Size } from '../calls/image-model.ts';
import { crop, cropRegion, overlay, requireMarked, within } from './mask-crop.ts';
import type { Resolved, ResolveContext } from './resolved.ts';

export interface ReferenceImage {
  /** In the size in which the text encoder sees it; null: it does not. */
  shown: Pixels | null;
  /** In the size in which the autoencoder encodes it. */
  fitted: Pixels;
}

export interface GivenImages {
  /** Scaled to the size that is drawn. */
  image: Pixels | null;
  mask: Pixels | null;
  /** Images that the denoiser sees beside the latents; left out: none. */
  references?: readonly ReferenceImage[];
  /** Images of ControlNets, scaled to the size that is drawn; left out: none. */
  controls?: readonly Pixels[];
  /** Converts a drawn image to the final one; left out: they are the same. */
  finish?(drawn: Pixels): Pixels;
}

/** Whether denoising starts from the image of a request; pipelines that see it beside what they draw start from it only under a mask. */
export function startsFromImage(
  { references }: Pick<PipelineSet, 'references'>,
  { image, mask }: Pick<CompleteImageRequest, 'image' | 'mask'>,
): boolean {
  return image !== undefined && (references === undefined || mask !== undefined);
}

/** Scales an image, and takes its middle where it is scaled to more than its size. */
function fitReference(image: Pixels, { width, height }: Size, scaled?: Size): Pixels {
  if (!scaled || scaled.width < width || scaled.height < height) return resample(image, width, height);
  const whole = resample(image, scaled.width, scaled.height);
  const [left, top] = [Math.floor((whole.width - width) / 2), Math.floor((whole.height - height) / 2)];
  return crop(whole, { left, top, right: left + width, bottom: top + height });
}

/** The size in an image's own proportions that covers another, as diffusers rounds it. */
function coveringSize(image: Size, { width, height }: Size): Size {
  const isWide = width / height > image.width / image.height;
  return isWide
    ? { width, height: Math.floor((image.height * width) / image.width) }
    : { width: Math.floor((image.width * height) / image.height), height };
}

export async function fitImages(
  { request, call: { maskPadding }, event }: Resolved,
  { pipeline, defaults, sizeMultiple }: Pick<ResolveContext, 'pipeline' | 'defaults' | 'sizeMultiple'>,
): Promise<GivenImages> {
  const { image, lastImage, mask, furtherImages = [], controlImages = [] } = request;
  const { width, height } = event.values;
  const rule = pipeline.set.references;
  if (rule?.isFrames) {
    const frames = [image, lastImage].filter((one) => one !== undefined);
    const references = frames.map((one) => {
      if (!rule.cuts) return { shown: one, fitted: resample(one, width, height) };
      const fitted = fitReference(one, { width, height }, coveringSize(one, { width, height }));
      return { shown: fitted, fitted };
    });
    return { image: null, mask: null, references };
  }
  if (rule) {
    const given = image ? [...furtherImages, image] : [];
    const seen = mask && furtherImages.length > 0 ? furtherImages : given;
    const pixels = defaults.width * defaults.height;
    const references = seen.map((one) => {
      const shown = rule.shownSizeOf?.(one, pixels);
      return {
        shown: shown ? resample(one, shown.width, shown.height) : null,
        fitted: fitReference(one, rule.sizeOf(one, pixels, sizeMultiple), rule.scaledSizeOf?.(one, pixels)),
      };
    });
    const starts = image && mask ? { image, mask } : null;
    return {
      image: starts && resample(starts.image, width, height),
      mask: starts && resample(starts.mask, width, height),
      references,
    };
  }
  if (!image || !mask || maskPadding === undefined) {
    return {
      image: image ? await coverImage(image, width, height) : null,
      mask: mask ? await coverImage(mask, width, height) : null,
      controls: controlImages.map((one) => resample(one, width, height)),
    };
  }
  const whole = await coverImage(mask, image.width, image.height);
  requireMarked(whole);
  const region = cropRegion(whole, { width, height }, maskPadding);
  const part = (whole: Pixels): Pixels => within(crop(whole, region), { width, height });
  return {
    image: part(image),
    mask: part(whole),
    controls: controlImages.map((one) => part(resample(one, image.width, image.height))),
    finish: (drawn) => overlay(image, whole, drawn, region),
  };
}
