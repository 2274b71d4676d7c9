// POST /v1/images/generations and /v1/images/edits: converts requests for the engine and its events to the reply; and GET of the
// images that were requested by URL.

import type { H3Event } from 'h3';
import { MODEL_KINDS } from '../../index.ts';
import { RequestError } from '../http/errors.ts';
import { countText } from '../../files/count-text.ts';
import { readForm } from '../body/form-body.ts';
import { applyImageEvent, imageResponse, type ImageReply, startImageReply } from './image-reply.ts';
import { QueuedImages } from './image-drawing.ts';
import {
  checkCount,
  checkUpscaler,
  toImageRequests,
  underFieldName,
  underFieldNames,
} from './image-request.ts';
import { ALL_FIELDS, IMAGE_FIELDS, type Operation, validateImage } from './image-schema.ts';
import { decodeImages, sendsImages } from './image-sources.ts';
import { streamImages } from './image-stream.ts';
import { readJson } from '../body/json-body.ts';
import { abortWithClient, listIgnored, whileClientWaits, whileRunning } from '../service/model-call.ts';
import { drawsClips, preferring } from '../service/default-model.ts';
import { createImageStore, IMAGE_LIFETIME, type ImageStore } from './image-store.ts';
import type { RouteTable } from '../service/route.ts';
import { requireRunning, type Service } from '../service/service.ts';
import { useModel } from '../service/use-model.ts';
import { EVENTS } from '../http/sse.ts';

const KEEP_ALIVE = 5000;

const storeOf = (service: Service): ImageStore => service.kept(createImageStore);

const COMMON = { group: 'Images', schemas: [() => import('./image-reply-schema.ts')] } as const;

export const IMAGE_ROUTES: RouteTable = {
  '/v1/images/generations': {
    POST: {
      handle: async (service, event) => {
        requireRunning(service);
        return answer(service, event, 'generation', await readJson(event.req));
      },
      summary: 'Generates images from a prompt, with previews while streaming.',
      ...COMMON,
      fields: IMAGE_FIELDS,
      required: ['prompt'],
      reply: 'Images',
      event: 'ImageGenerationEvent',
    },
  },
  '/v1/images/edits': {
    POST: {
      handle: async (service, event) => {
        requireRunning(service);
        return answer(service, event, 'edit', await readForm(event.req, ALL_FIELDS));
      },
      summary: 'Generates images from an image and a prompt: image-to-image and inpainting.',
      ...COMMON,
      form: ALL_FIELDS,
      required: ['prompt'],
      reply: 'Images',
      event: 'ImageEditEvent',
    },
  },
  '/v1/images/:id/content': {
    GET: {
      handle: imageContent,
      summary: 'An image that was requested as a URL.',
      ...COMMON,
      gives: 'image/*',
      // The address cannot be guessed, and a web page must be able to show the image without a key.
      access: 'open',
    },
  },
};

function imageContent(service: Service, { url }: H3Event): Response {
  const id = url.pathname.split('/').at(-2) ?? '';
  const image = storeOf(service).find(id);
  if (!image) {
    const minutes = IMAGE_LIFETIME / 60_000;
    throw new RequestError(
      'not_found',
      `there is no image ${id} here, or no longer; images are kept for ${minutes} minutes, and less where they are many`,
    );
  }
  return new Response(new Uint8Array(image.bytes), {
    headers: {
      'content-type': image.type,
      'content-length': String(image.bytes.length),
      'cache-control': 'private, max-age=3600, immutable',
    },
  });
}

async function answer(
  service: Service,
  event: H3Event,
  operation: Operation,
  sent: unknown,
): Promise<unknown> {
  const { body, ignored } = validateImage(sent, operation, service.options.strict ?? false);
  const { model } = await useModel({ service, event }, MODEL_KINDS.image, body.model ?? 'default', {
    isStream: body.stream === true,
    candidates: preferring((slot) => !drawsClips(slot)),
  });
  listIgnored(event, ignored);
  checkUpscaler(body, model.info);
  const abort = abortWithClient(event);
  const asked = {
    requests: toImageRequests(body),
    decode: sendsImages(body) ? (signal: AbortSignal) => decodeImages(body, signal) : null,
    check: checkCount,
  };
  const queued = new QueuedImages(service, model, asked, abort.signal);
  const settled = await whileClientWaits(service, event, 'the drawing began', (signal) =>
    queued.settle(signal),
  ).catch((error: unknown) => {
    throw underFieldName(error, body);
  });
  const kept = { store: storeOf(service), origin: event.url.origin };
  const reply = startImageReply(body, settled.values, kept);
  describeCall(event, reply, settled.values.steps);
  const previews = body.partial_images ?? 0;
  const drawn = settled.draw({ previews, signal: abort.signal });
  const events = whileRunning(service, abort, underFieldNames(drawn, body));

  if (!body.stream) {
    for await (const imageEvent of events) await applyImageEvent(reply, imageEvent);
    return imageResponse(reply);
  }
  for (const [name, value] of Object.entries(EVENTS.headers)) event.res.headers.set(name, value);
  return streamImages(reply, events, {
    name: operation === 'edit' ? 'image_edit' : 'image_generation',
    previews,
    turn: queued.turn,
    keepAlive: service.options.keepAlive ?? KEEP_ALIVE,
    onCancel: () => abort.abort(),
    log: service.log,
  });
}

function describeCall({ context: { call } }: H3Event, reply: ImageReply, steps: number): void {
  if (!call) return;
  call.detail = () => {
    return `${countText(reply.data.length, 'image')} of ${reply.size} in ${countText(steps, 'step')}`;
  };
}
