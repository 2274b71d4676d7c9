// Text as server-sent events or lines of JSON, whatever their form: the engine's events in order, choice by choice. The engine is never held up by a
// slow reader: what it has no room for waits here and goes out in fewer, larger parts.

import type { H3Event } from 'h3';
import { isUnforeseen } from '../errors.ts';
import { applyEvent, choiceAt } from './reply-fold.ts';
import { createHeldParts, type Generated, isGenerated, type Part } from './reply-parts.ts';
import type { Service } from '../service.ts';
import { createEventStream, EVENTS, type Framing } from '../sse.ts';
import type { TextCall } from './text-call.ts';

const KEEP_ALIVE = 5000;

/** How a kind of stream says what happens. Choices of several requests are counted through. */
export interface StreamForm {
  begin(): void;
  /** So much of a request's prompt is read; its fold says of how much. */
  progress?(run: number, processed: number): void;
  /** A request's fold has its prompt's log probabilities. */
  prompt?(run: number): void;
  part(choice: number, part: Part): void;
  /** A choice ended; its fold says how. */
  end(choice: number): void;
  /** All have ended. What it returns is noted in the log, with the error's code. */
  finish(error: Error | undefined): { code: string; param: string | null; message: string } | null;
  /** Whether `data: [DONE]` ends it. */
  marker: boolean;
}

/** Writes an event; `name` on a line of its own. */
export type Send = (value: unknown, name?: string) => void;

/** The call must be accepted. */
export function streamText(
  service: Service,
  event: H3Event,
  call: TextCall,
  formOf: (send: Send) => StreamForm,
  framing: Framing = EVENTS,
): ReadableStream<Uint8Array> {
  const { runs } = call;
  const held = createHeldParts();
  const flush = () => {
    for (const [choice, part] of held.take()) form.part(choice, part);
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
        held.add(shifted(textEvent, offset));
        if (stream.room()) flush();
      }
    }
    if (fold.error) throw fold.error;
  };
  /** Every choice has an end, and the stream has one, whatever happened. */
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
    // Where the form cannot say how it ends, that is the error it ends with.
    .catch(finish)
    .catch((error: unknown) => service.log.error(error))
    .finally(() => stream.end({ marker: form.marker }));
  return stream.body;
}

function shifted(event: Generated, offset: number): Generated {
  return offset === 0 ? event : { ...event, choice: event.choice + offset };
}

/** Choices of the requests before one. */
export function offsetOf({ runs }: TextCall, run: number): number {
  return runs.slice(0, run).reduce((sum, { fold }) => sum + fold.choices.length, 0);
}

/** The request and the choice within it that a counted-through choice is. */
export function runOf({ runs }: TextCall, choice: number): { run: number; index: number } {
  let index = choice;
  for (const [run, { fold }] of runs.entries()) {
    if (index < fold.choices.length) return { run, index };
    index -= fold.choices.length;
  }
  throw new Error(`choice ${choice} of ${choice - index}`);
}
