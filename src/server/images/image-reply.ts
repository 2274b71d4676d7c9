// The reply to a request for images, folded from the engine's events; the streaming and the plain reply fold the same way.

import { randomUUID } from 'node:crypto';
import {
  coverImage,
  encodeImage,
  type ImageEvent,
  type ImageFormat,
  type Pixels,
  type ResolvedImageRequest,
} from '../../index.ts';
import { upscaledSize } from '../../options/upscaled-size.ts';
import type { Images } from './image-reply-schema.ts';
import { type ImageBody, qualityIn } from './image-schema.ts';
import type { ImageStore } from './image-store.ts';

export interface ImageReply {
  id: string;
  /** Seconds since 1970. */
  created: number;
  format: ImageFormat;
  /** Quality of a JPEG or WebP file: 1 to 100. */
  quality: number;
  width: number;
  height: number;
  size: string;
  /** Store and origin for replies with URLs; null: the images are sent in the reply. */
  keep: { store: ImageStore; origin: string } | null;
  data: ImageEntry[];
  /** The prompt that the image was drawn from. */
  prompt: string;
  tokens: { text: number; image: number; each: number };
  /** Words of the prompt that the model never saw. */
  unknownWords: string[];
  peakBytes: number;
  /** Milliseconds of computing, without the time in the queue. */
  milliseconds: number;
}

type ImageEntry = Images['data'][number];

export function startImageReply(
  body: ImageBody & { prompt: string },
  values: ResolvedImageRequest,
  kept: { store: ImageStore; origin: string },
): ImageReply {
  const { width, height } = upscaledSize(values);
  return {
    id: `img-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    format: body.output_format ?? 'png',
    quality: qualityIn(body),
    width,
    height,
    size: `${width}x${height}`,
    keep: body.response_format === 'url' ? kept : null,
    data: [],
    prompt: body.prompt,
    tokens: { text: 0, image: 0, each: 0 },
    unknownWords: [],
    peakBytes: 0,
    milliseconds: 0,
  };
}

/** Adds an event to the reply; returns the image if the event completed one. */
export async function applyImageEvent(reply: ImageReply, event: ImageEvent): Promise<ImageEntry | null> {
  if (event.type === 'image') {
    const entry = await imageEntry(reply, event);
    reply.data[event.sample] = entry;
    return entry;
  }
  if (event.type === 'tokens') reply.tokens = event;
  if (event.type === 'unknown-words') reply.unknownWords = event.words;
  if (event.type === 'stage') reply.peakBytes = Math.max(reply.peakBytes, event.peakBytes);
  if (event.type === 'done') reply.milliseconds += event.milliseconds;
  return null;
}

async function imageEntry(
  reply: ImageReply,
  { image, seed, sample }: { image: Pixels; seed: number; sample: number },
): Promise<ImageEntry> {
  const { keep, format, id } = reply;
  const about = { seed, revised_prompt: reply.prompt };
  if (!keep) return { b64_json: await toBase64(reply, image), ...about };
  const name = sample === 0 ? id : `${id}-${sample}`;
  const bytes = await encodeImage(image, { format, quality: reply.quality });
  keep.store.keep(name, { bytes, type: `image/${format}` });
  return { url: `${keep.origin}/v1/images/${name}/content`, ...about };
}

/** Encodes a preview, enlarged to the size of the final image. */
export async function previewOf(reply: ImageReply, image: Pixels): Promise<string> {
  return toBase64(reply, await coverImage(image, reply.width, reply.height));
}

async function toBase64({ format, quality }: ImageReply, image: Pixels): Promise<string> {
  return Buffer.from(await encodeImage(image, { format, quality })).toString('base64');
}

/** Token counts: of the prompt, of the source image, and of the generated images, as the denoiser counts them. */
export function usageOf({ tokens: { text, image, each } }: ImageReply, images: number): Images['usage'] {
  return {
    total_tokens: text + image + images * each,
    input_tokens: text + image,
    output_tokens: images * each,
    input_tokens_details: { text_tokens: text, image_tokens: image },
  };
}

export function imageResponse(reply: ImageReply): Images {
  const { id, created, format, size, data, unknownWords, peakBytes, milliseconds } = reply;
  return {
    id,
    created,
    background: 'opaque',
    output_format: format,
    size,
    data,
    ...(unknownWords.length > 0 && { unknown_words: unknownWords }),
    usage: usageOf(reply, data.length),
    peak_memory_mb: Math.round(peakBytes / 1e5) / 10,
    inference_time_s: Math.round(milliseconds) / 1000,
  };
}
