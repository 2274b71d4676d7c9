// Requests to an image model: all their values are resolved before a reply begins, and they are drawn in the order of their arrival, those of one shape
// that wait together as far as the engine draws them at once.

import type { ImageEvent, ImageModel, ResolvedImageRequest } from '../../index.ts';
import type { Service } from '../service/service.ts';
import { createTurns, type Turn, type Turns } from '../service/turns.ts';
import { fitSources, noteText } from './image-request.ts';
import type { DecodedRequest, SentImages } from './image-sources.ts';

const QUEUED_IMAGES = 128;

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

/** Requests that a model draws, and those that wait for it, videos included. */
export function imageLoad(service: Service, model: ImageModel): { running: number; waiting: number } {
  return turnsOf(service, model).turns.load;
}

/** What a request asks of a model. */
export interface AskedImages {
  /** The engine's requests, without the images that were sent. */
  requests: readonly [DecodedRequest, ...DecodedRequest[]];
  /** Decodes the images that were sent; null: none were. */
  decode: ((signal: AbortSignal) => Promise<SentImages>) | null;
  /** Throws RequestError for values that the route does not answer with. */
  check(values: ResolvedImageRequest): void;
}

export interface DrawOptions {
  /** Limit on the previews of each image. */
  previews: number;
  signal: AbortSignal;
}

type Events = AsyncGenerator<ImageEvent, void, void>;

/** A request in the queue of its model. */
export class QueuedImages {
  readonly turn: Turn;
  readonly #service: Service;
  readonly #model: ImageModel;
  readonly #asked: AskedImages;
  readonly #decoding: Turns;

  /** Joins the queue, which it leaves when the signal aborts. Throws `overloaded` if too many requests wait. */
  constructor(service: Service, model: ImageModel, asked: AskedImages, signal: AbortSignal) {
    const { turns, decoding } = turnsOf(service, model);
    // A request also waits its turn while its images are decoded, and while a sleeping model is opened again.
    this.turn = turns.enter(signal);
    this.#service = service;
    this.#model = model;
    this.#asked = asked;
    this.#decoding = decoding;
  }

  /**
   * Resolves all values of the requests. Throws for every invalid value, and for images that cannot be decoded, before the reply begins,
   * while an error can still set the status; the place in the queue is given back then. A request that waits for others does not hold
   * its decoded images, but decodes them once more in its turn: the queue is long, and a small file may hold many pixels.
   */
  async settle(signal: AbortSignal): Promise<SettledImages> {
    const { decode, check } = this.#asked;
    const place = decode ? this.#decoding.enter(signal) : null;
    try {
      await place?.begun;
      const whole = await this.#decoded(signal);
      const { values, joins } = await this.#model.resolve(whole[0]);
      check(values);
      if (joins && whole.length === 1) this.turn.mayJoin({ ...joins, samples: values.samples });
      const fitted = (all: DecodedRequest[]): Promise<DecodedRequest[]> =>
        fitSources(all, values, this.#model.info.supports);
      if (!place || this.turn.ahead === 0) {
        const requests = await fitted(whole);
        return { values, draw: (options) => this.#draw(async () => requests, options) };
      }
      const later = async (until: AbortSignal) => fitted(await this.#decoded(until));
      return { values, draw: (options) => this.#draw(() => later(options.signal), options) };
    } catch (error) {
      this.turn.end();
      throw error;
    } finally {
      place?.end();
    }
  }

  async #decoded(signal: AbortSignal): Promise<[DecodedRequest, ...DecodedRequest[]]> {
    const { requests, decode } = this.#asked;
    const images = await decode?.(signal);
    const [first, ...others] = requests;
    return [{ ...first, ...images }, ...others.map((one) => ({ ...one, ...images }))];
  }

  /** Runs the requests in order; image indices continue from one request to the next. Notes are written to the log. */
  async *#draw(
    requests: () => Promise<readonly DecodedRequest[]>,
    { previews, signal }: DrawOptions,
  ): Events {
    try {
      await this.turn.begun;
      let first = 0;
      for (const one of await requests()) {
        const request = previews > 0 ? { ...one, previews } : one;
        for await (const event of this.#model.generate(request, { signal })) {
          if (event.type === 'note') this.#service.log.warn(noteText(event));
          yield 'sample' in event ? { ...event, sample: first + event.sample } : event;
        }
        first += request.samples ?? 1;
      }
    } finally {
      this.turn.end();
    }
  }
}

export interface SettledImages {
  values: ResolvedImageRequest;
  /** Draws when the turn has begun, and ends the turn. */
  draw(options: DrawOptions): Events;
}
