// Text as server-sent events or lines of JSON in any interface's form: the engine's events in order, by choice. A slow reader never
// delays the engine: parts that do not fit the buffer wait here and are merged into fewer, larger ones.

import type { H3Event } from 'h3';
import { isUnforeseen } from '../errors.ts';
import { applyEvent, choiceAt } from './reply-fold.ts';
import { createPendingParts, type Generated, isGenerated, type Part } from './reply-parts.ts';
import type { Service } from '../service.ts';
import { createEventStream, EVENTS, type Framing } from '../sse.ts';
import type { TextCall } from './text-call.ts';

const KEEP_ALIVE = 5000;

/** The events of an interface's stream. The choices of several requests are numbered consecutively. */
export interface StreamForm {
  begin(): void;
  /** `processed` tokens of the request's prompt are read; its fold has the total. */
  progress?(run: number, processed: number): void;
  /** The fold of a request has its prompt's log probabilities. */
  prompt?(run: number): void;
  part(choice: number, part: Part): void;
  /** A choice has ended; its fold has the finish reason. */
  end(choice: number): void;
  /** All requests have ended. The returned value and the error's code are written to the log. */
  finish(error: Error | undefined): { code: string; param: string | null; message: string } | null;
  /** Whether `data: [DONE]` ends the stream. */
  marker: boolean;
}

/** Sends an event; `name` goes on a line of its own. */
export type Send = (value: unknown, name?: string) => void;

/** Streams an accepted call. */
export function streamText(
  service: Service,
  event: H3Event,
  call: TextCall,
  formOf: (send: Send) => StreamForm,
  framing: Framing = EVENTS,
): ReadableStream<Uint8Array> {
  const { runs } = call;
  const pending = createPendingParts();
  const flush = () => {
    for (const [choice, part] of pending.take()) form.part(choice, part);
  };
  /** An error that was thrown while the reader caught up. */
  let thrown: Error | undefined;
  const onRoom = () => {
    try {
      flush();
    } catch (error) {
      thrown ??= error as Error;
      call.abort();
    }
  };
  const keepAlive = service.options.keepAlive ?? KEEP_ALIVE;
  const stream = createEventStream({ keepAlive, onRoom, onCancel: call.abort }, framing);
  const form = formOf((value, name) => stream.send(value, name));
  const end = (choice: number) => {
    flush();
    form.end(choice);
  };

  const forward = async (index: number, offset: number) => {
    const { fold, events } = runs[index]!;
    for await (const textEvent of events) {
      applyEvent(fold, textEvent);
      if (textEvent.type === 'prefill' && stream.room()) form.progress?.(index, textEvent.processed);
      else if (textEvent.type === 'prompt') form.prompt?.(index);
      else if (textEvent.type === 'done') end(offset + textEvent.choice);
      else if (isGenerated(textEvent)) {
        pending.add(shifted(textEvent, offset));
        if (stream.room()) flush();
      }
    }
    if (fold.error) throw fold.error;
  };
  /** Ends every choice and the stream, whatever happened before. */
  const finish = (error: Error | undefined) => {
    runs.forEach(({ fold }, run) =>
      fold.choices.forEach((_, index) => {
        const choice = choiceAt(fold, index);
        if (choice.finishReason !== null) return;
        choice.finishReason = 'abort';
        end(offsetOf(call, run) + index);
      }),
    );
    if (error && isUnforeseen(error)) service.log.error(error);
    const refusal = form.finish(error);
    if (event.context.call && refusal) event.context.call.refusal = refusal;
  };

  for (const [name, value] of Object.entries(framing.headers)) event.res.headers.set(name, value);
  form.begin();
  Promise.all(
    runs.map((_, index) =>
      forward(index, offsetOf(call, index)).catch((error: Error) => {
        call.abort();
        throw error;
      }),
    ),
  )
    .then(
      () => finish(thrown),
      (error: Error) => finish(thrown ?? error),
    )
    // If the form throws while it ends the stream, the stream ends with that error.
    .catch(finish)
    .catch((error: unknown) => service.log.error(error))
    .finally(() => stream.end({ marker: form.marker }));
  return stream.body;
}

function shifted(event: Generated, offset: number): Generated {
  return offset === 0 ? event : { ...event, choice: event.choice + offset };
}

/** Number of choices of the requests before `run`. */
export function offsetOf({ runs }: TextCall, run: number): number {
  return runs.slice(0, run).reduce((sum, { fold }) => sum + fold.choices.length, 0);
}

/** Returns the request and its choice for a consecutive choice number. */
export function runOf({ runs }: TextCall, choice: number): { run: number; index: number } {
  let index = choice;
  for (const [run, { fold }] of runs.entries()) {
    if (index < fold.choices.length) return { run, index };
    index -= fold.choices.length;
  }
  throw new Error(`choice ${choice} of ${choice - index}`);
}
