// POST /v1/images/generations and /v1/images/edits: converts requests for the engine and its events to the reply; and GET of the
// images that were requested by URL.

import type { H3Event } from 'h3';
import { type ImageEvent, type ImageModel, MODEL_KINDS, type ResolvedImageRequest } from '../../index.ts';
import { RequestError } from '../http/errors.ts';
import { countText } from '../../files/count-text.ts';
import { readForm } from '../body/form-body.ts';
import { applyImageEvent, imageResponse, type ImageReply, startImageReply } from './image-reply.ts';
import { checkCount, fitSources, noteText, toImageRequests, underFieldName } from './image-request.ts';
import { ALL_FIELDS, IMAGE_FIELDS, type ImageBody, type Operation, validateImage } from './image-schema.ts';
import { decodeImages, type DecodedRequest, sendsImages } from './image-sources.ts';
import { streamImages } from './image-stream.ts';
import { readJson } from '../body/json-body.ts';
import { abortWithClient, listIgnored, whileClientWaits, whileRunning } from '../service/model-call.ts';
import { findModel } from '../service/models.ts';
import { createImageStore, IMAGE_LIFETIME, type ImageStore } from './image-store.ts';
import type { RouteTable } from '../service/route.ts';
import { requireRunning, type Service } from '../service/service.ts';
import { EVENTS } from '../http/sse.ts';
import { createTurns, type Turn, type Turns } from '../service/turns.ts';

const KEEP_ALIVE = 5000;

const QUEUED_IMAGES = 128;

const storeOf = (service: Service): ImageStore => service.kept(createImageStore);

interface ModelTurns {
  turns: Turns;
  /** Turns of requests that send images, whose values are settled one request at a time. */
  decoding: Turns;
}

const createModelTurns = (): WeakMap<ImageModel, ModelTurns> => new WeakMap();

function turnsOf(service: Service, model: ImageModel): ModelTurns {
  const all = service.kept(createModelTurns);
  const known = all.get(model);
  if (known) return known;
  const turns = createTurns(service.options.maxQueuedImages ?? QUEUED_IMAGES);
  const made = { turns, decoding: createTurns(Infinity) };
  all.set(model, made);
  return made;
}

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
  const { model } = findModel(service, MODEL_KINDS.image, body.model ?? 'default');
  const { turns, decoding } = turnsOf(service, model);
  listIgnored(event, ignored);
  const abort = abortWithClient(event);
  const asked = toImageRequests(body);
  // A request also waits its turn while its images are decoded, and while a sleeping model is opened again.
  const turn = turns.enter(abort.signal);
  const { values, requests } = await whileClientWaits(service, event, 'the drawing began', (signal) =>
    settle(model, decoding, { body, asked, turn, signal }),
  ).catch((error: unknown) => {
    turn.end();
    throw underFieldName(error, body);
  });
  const kept = { store: storeOf(service), origin: event.url.origin };
  const reply = startImageReply(body, values, kept);
  describeCall(event, reply, values.steps);
  const previews = body.partial_images ?? 0;
  const drawn = draw(model, turn, () => requests(abort.signal), { previews, signal: abort.signal });
  const events = whileRunning(service, abort, withNotes(service, drawn));

  if (!body.stream) {
    for await (const imageEvent of events) await applyImageEvent(reply, imageEvent);
    return imageResponse(reply);
  }
  for (const [name, value] of Object.entries(EVENTS.headers)) event.res.headers.set(name, value);
  return streamImages(reply, events, {
    name: operation === 'edit' ? 'image_edit' : 'image_generation',
    previews,
    ahead: turn.ahead,
    keepAlive: service.options.keepAlive ?? KEEP_ALIVE,
    onCancel: () => abort.abort(),
    log: service.log,
  });
}

interface Settled {
  values: ResolvedImageRequest;
  /** The engine's requests with their images; called when the turn has begun. */
  requests(signal: AbortSignal): Promise<DecodedRequest[]>;
}

/**
 * Resolves all values of the requests. Throws for every invalid value, and for images that cannot be decoded, before the reply begins,
 * while an error can still set the status. A request that waits for others does not hold its decoded images, but decodes them once more
 * in its turn: the queue is long, and a small file may hold many pixels.
 */
async function settle(
  model: ImageModel,
  decoding: Turns,
  { body, asked, turn, signal }: Asked,
): Promise<Settled> {
  const decoded = async (until: AbortSignal): Promise<[DecodedRequest, ...DecodedRequest[]]> => {
    const images = await decodeImages(body, until);
    const [first, ...others] = asked;
    return [{ ...first, ...images }, ...others.map((one) => ({ ...one, ...images }))];
  };
  const place = sendsImages(body) ? decoding.enter(signal) : null;
  try {
    await place?.begun;
    const whole = await decoded(signal);
    const { values } = await model.resolve(whole[0]);
    checkCount(values);
    const fitted = (all: DecodedRequest[]): Promise<DecodedRequest[]> =>
      fitSources(all, values, model.info.supports);
    if (!place || turn.ahead === 0) {
      const requests = await fitted(whole);
      return { values, requests: async () => requests };
    }
    return { values, requests: async (until) => fitted(await decoded(until)) };
  } finally {
    place?.end();
  }
}

interface Asked {
  body: ImageBody;
  asked: readonly [DecodedRequest, ...DecodedRequest[]];
  turn: Turn;
  signal: AbortSignal;
}

type Events = AsyncGenerator<ImageEvent, void, void>;

/** Runs the requests in order; image indices continue from one request to the next. */
async function* draw(
  model: ImageModel,
  turn: Turn,
  requests: () => Promise<DecodedRequest[]>,
  { previews, signal }: { previews: number; signal: AbortSignal },
): Events {
  try {
    await turn.begun;
    let first = 0;
    for (const one of await requests()) {
      const request = previews > 0 ? { ...one, previews } : one;
      for await (const event of model.generate(request, { signal })) {
        yield 'sample' in event ? { ...event, sample: first + event.sample } : event;
      }
      first += request.samples ?? 1;
    }
  } finally {
    turn.end();
  }
}

async function* withNotes(service: Service, events: Events): Events {
  for await (const event of events) {
    if (event.type === 'note') service.log.warn(noteText(event));
    yield event;
  }
}

function describeCall({ context: { call } }: H3Event, reply: ImageReply, steps: number): void {
  if (!call) return;
  call.detail = () => {
    return `${countText(reply.data.length, 'image')} of ${reply.size} in ${countText(steps, 'step')}`;
  };
}
