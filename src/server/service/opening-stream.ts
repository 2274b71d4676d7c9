// Streams that begin while their model is still opened: after a silence comments say how far that is, until the route answers.

import type { H3Event } from 'h3';
import type { OpenEvent } from '../../index.ts';
import { isUnforeseen, OPENAI_ERRORS, toErrorReply } from '../http/errors.ts';
import { EVENTS } from '../http/sse.ts';
import type { Route } from './route.ts';
import { progressText, type Service } from './service.ts';

const KEEP_ALIVE = 5000;

type Progress = () => OpenEvent | null;

declare module 'h3' {
  interface H3EventContext {
    /**
     * Says that the reply is a stream which waits for a model, and returns a function that says that the model is open; left out: it does not
     * wait, or no more.
     */
    opens?: ((progress: Progress) => () => void) | undefined;
  }
}

/** Answers a request by its route; its reply begins with comments if it is a stream whose model takes long to open. */
export async function whileOpens(
  service: Service,
  event: H3Event,
  route: Route,
  answer: () => unknown,
): Promise<unknown> {
  const silence = service.options.keepAlive ?? KEEP_ALIVE;
  let timer: NodeJS.Timeout | undefined;
  const opening = new Promise<Progress>((resolve) => {
    event.context.opens = (progress) => {
      timer = setTimeout(() => resolve(progress), silence);
      return () => clearTimeout(timer);
    };
  });
  const answered = (async () => answer())().finally(() => clearTimeout(timer));
  answered.catch(() => {}); // read below, or by the stream
  const progress = await Promise.race([opening, answered.then(() => null)]);
  if (progress === null) return answered;
  const framing = route.framing ?? EVENTS;
  for (const [name, value] of Object.entries(framing.headers)) event.res.headers.set(name, value);
  const bytes = bytesOf(service, event, route, { answered, progress, silence });
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await bytes.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await bytes.return();
    },
  });
}

interface Opening {
  answered: Promise<unknown>;
  progress: Progress;
  /** Milliseconds between comments. */
  silence: number;
}

async function* bytesOf(
  service: Service,
  event: H3Event,
  { framing = EVENTS, errors = OPENAI_ERRORS }: Route,
  { answered, progress, silence }: Opening,
): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  try {
    while (!(await settledWithin(answered, silence)))
      yield encoder.encode(`: opening the model, ${progressText(progress())}\n\n`);
    const reply = await answered;
    if (reply instanceof ReadableStream) return yield* reply as ReadableStream<Uint8Array>;
    yield encoder.encode(framing.frame(reply));
  } catch (error) {
    if (isUnforeseen(error)) service.log.error(error);
    const refused = toErrorReply(error);
    if (event.context.call) event.context.call.refusal = refused.body.error;
    yield encoder.encode(
      framing.frame(errors.event(refused), framing.end === undefined ? 'error' : undefined),
    );
  }
  if (framing.end !== undefined) yield encoder.encode(framing.end);
}

/** Whether a promise settles within so many milliseconds. */
async function settledWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, late]).finally(() => clearTimeout(timer));
}
