// The reply to a text call in any interface's form, whole or as a stream: the engine's events in order, by choice. A slow reader never
// delays the engine: parts that do not fit the buffer of a stream wait here and are merged into fewer, larger ones.

import type { H3Event } from 'h3';
import { CutShort, type ErrorReply, isUnforeseen, toErrorReply } from '../http/errors.ts';
import { createEventStream, EVENTS, type Framing } from '../http/sse.ts';
import type { Service } from '../service/service.ts';
import { applyEvent, choiceAt, completionTokens } from './reply-fold.ts';
import {
  createPendingParts,
  type Generated,
  isGenerated,
  type ReplyPart,
  partsOf,
  wholeCalls,
} from './reply-parts.ts';
import { acceptText, followAll, type TextCall } from './text-call.ts';

const KEEP_ALIVE = 5000;

/**
 * The reply in the form of an interface: what is sent as the events come, and the whole. The choices of several requests are numbered
 * consecutively.
 */
export interface TextForm {
  begin?(): void;
  /** `processed` tokens of the request's prompt are read; its fold has the total. */
  progress?(run: number, processed: number): void;
  /** The fold of a request has its prompt's log probabilities. */
  prompt?(run: number): void;
  part?(choice: number, part: ReplyPart): void;
  /** A choice has ended; its fold has the finish reason. */
  end?(choice: number): void;
  /** All requests of a stream have ended. */
  finish(error: ErrorReply | undefined): void;
  /** The reply as one object, after every choice has ended. */
  whole(): object;
  /** There is no reply, because the requests failed before any output. */
  forget?(): void;
}

/** Sends an event of a stream; `name` goes on a line of its own. */
export type Send = (value: unknown, name?: string) => void;

export interface TextReplyOptions {
  isStream: boolean;
  framing?: Framing | undefined;
  /** A stream has calls when they are complete, too. */
  wholeCalls?: boolean | undefined;
}

/** Answers a call. Throws the error of a whole reply, and of a stream before it begins. */
export async function replyText(
  service: Service,
  event: H3Event,
  call: TextCall,
  formOf: (send: Send) => TextForm,
  options: TextReplyOptions,
): Promise<unknown> {
  if (!options.isStream)
    return replyWhole(
      call,
      formOf(() => {}),
    );
  await acceptText(call);
  if (options.wholeCalls) for (const run of call.runs) run.events = wholeCalls(run.events);
  return streamText(service, event, call, formOf, options.framing);
}

/** Returns the whole reply; an error after some output carries that output. */
async function replyWhole(call: TextCall, form: TextForm): Promise<object> {
  form.begin?.();
  try {
    await followAll(call, async ({ fold, events }, index) => {
      const offset = offsetOf(call, index);
      for await (const event of wholeCalls(events)) {
        applyEvent(fold, event);
        if (event.type === 'done') form.end?.(offset + event.choice);
        else if (isGenerated(event))
          for (const part of partsOf(event)) form.part?.(offset + event.choice, part);
      }
      if (fold.error) throw fold.error;
    });
  } catch (error) {
    if (!(error instanceof Error) || !call.runs.some(({ fold }) => completionTokens(fold) > 0)) {
      form.forget?.();
      throw error;
    }
    for (const { fold } of call.runs) fold.error ??= error;
    endChoices(call, (choice) => form.end?.(choice));
    throw new CutShort(error, form.whole());
  }
  return form.whole();
}

/** Streams an accepted call. */
export function streamText(
  service: Service,
  event: H3Event,
  call: TextCall,
  formOf: (send: Send) => TextForm,
  framing: Framing = EVENTS,
): ReadableStream<Uint8Array> {
  const pending = createPendingParts();
  const flush = () => {
    for (const [choice, part] of pending.take()) form.part?.(choice, part);
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
    form.end?.(choice);
  };

  const forward = async (index: number) => {
    const { fold, events } = call.runs[index]!;
    const offset = offsetOf(call, index);
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
    endChoices(call, end);
    if (error && isUnforeseen(error)) service.log.error(error);
    const reply = error && toErrorReply(error);
    if (error) for (const { fold } of call.runs) fold.error ??= error;
    form.finish(reply);
    if (event.context.call && reply) event.context.call.refusal = reply.body.error;
  };

  for (const [name, value] of Object.entries(framing.headers)) event.res.headers.set(name, value);
  form.begin?.();
  Promise.all(
    call.runs.map((_, index) =>
      forward(index).catch((error: Error) => {
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
    .finally(() => stream.end());
  return stream.body;
}

/** Ends the choices that no event has ended. */
function endChoices(call: TextCall, end: (choice: number) => void): void {
  call.runs.forEach(({ fold }, run) =>
    fold.choices.forEach((_, index) => {
      const choice = choiceAt(fold, index);
      if (choice.finishReason !== null) return;
      choice.finishReason = 'abort';
      end(offsetOf(call, run) + index);
    }),
  );
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
