// Converts the fields of a request for a video to the engine's requests, and reads the image that it names.

import {
  EngineError,
  type ImageModelInfo,
  decodeImage,
  LIMITS,
  type ResolvedImageRequest,
} from '../../index.ts';
import { isEmpty, withoutMissing } from '../body/fields.ts';
import { fieldError, RequestError } from '../http/errors.ts';
import { toImageRequests, underFieldName } from '../images/image-request.ts';
import { MOST_IMAGES } from '../images/image-schema.ts';
import type { DecodedRequest, SentImages } from '../images/image-sources.ts';
import { fetchImage } from '../media/request-media.ts';
import type { Service } from '../service/service.ts';
import type { VideoBody } from './video-schema.ts';

export function toVideoRequests(
  body: VideoBody,
  info: ImageModelInfo,
): [DecodedRequest, ...DecodedRequest[]] {
  const { guidance_scale_2, true_cfg_scale, n = body.num_outputs_per_prompt } = body;
  const kwargs = { ...body.diffusers_kwargs, ...withoutMissing({ guidance_scale_2, true_cfg_scale }) };
  const num_frames = body.num_frames ?? framesFor(body, info);
  return toImageRequests({
    ...body,
    ...withoutMissing({ n, num_frames }),
    ...(isEmpty(kwargs) ? {} : { diffusers_kwargs: kwargs }),
  });
}

/** The number of frames that is nearest to a length in seconds, of those that the model draws; undefined: none was asked for. */
function framesFor(
  { seconds, fps }: VideoBody,
  { defaults, frameMultiple }: Pick<ImageModelInfo, 'defaults' | 'frameMultiple'>,
): number | undefined {
  if (seconds === undefined) return undefined;
  const frames = Number(seconds) * (fps ?? defaults.fps ?? 1);
  const multiple = frameMultiple ?? 1;
  const nearest = 1 + multiple * Math.max(0, Math.round((frames - 1) / multiple));
  if (nearest <= LIMITS.frames) return nearest;
  throw fieldError(
    'seconds',
    `is ${seconds}, which takes ${nearest} frames; send less for ${LIMITS.frames} or fewer`,
  );
}

/** Returns the engine's error with the client's names of the fields. */
export function underVideoName(error: unknown, body: VideoBody): unknown {
  const { reference_url, num_frames, seconds } = body;
  const names = {
    image: reference_url === undefined ? 'input_reference' : 'reference_url',
    ...(num_frames === undefined && seconds !== undefined && { frames: 'seconds' }),
  };
  const named = underFieldName(error, body, names);
  if (!(named instanceof EngineError) || named.param !== 'diffusers_kwargs') return named;
  // Fields that are call arguments of their own.
  const field = (['guidance_scale_2', 'true_cfg_scale'] as const).find((name) => body[name] !== undefined);
  return field !== undefined && isEmpty(body.diffusers_kwargs) ? named.underName(field) : named;
}

/** Refuses more videos than a request may draw. */
export function checkVideos({ samples }: ResolvedImageRequest): void {
  if (samples <= MOST_IMAGES) return;
  const message = `one request draws at most ${MOST_IMAGES} videos, got ${samples}`;
  throw new RequestError('invalid_value', message, { param: 'n' });
}

/** The file of an image that a request names, in memory until it is released. */
export interface Reference {
  decode(): Promise<SentImages>;
  release(): void;
}

/** Reads the image that a request names; null: it names none. Throws RequestError. */
export async function readReference(
  service: Service,
  { input_reference: sent, reference_url: url }: VideoBody,
  signal: AbortSignal,
): Promise<Reference | null> {
  const field = url === undefined ? 'input_reference' : 'reference_url';
  const source = sent ?? url;
  if (source === undefined) return null;
  const { bytes, release } =
    typeof source === 'string'
      ? await fetchImage(service, source, field, signal)
      : { bytes: new Uint8Array(await source.arrayBuffer()), release() {} };
  return { decode: async () => ({ image: await decodeImage(bytes, field) }), release };
}
