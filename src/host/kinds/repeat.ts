// Requests that are run a second time, because the process that computed them has ended: their events are computed again, and those that
// the reader has got already are left out.

import type { TextEvent, TextRequest } from '../../engine/text/calls/text-model.ts';
import { EngineError } from '../../files/error.ts';
import { LIMITS } from '../../options/limits.ts';

/** The events of one request, over all its runs. */
export interface Repeat<Request, Event> {
  /** The request in a form that computes the same events in each run; its limits on time count from the first one. */
  readonly request: Request;
  /** Called before each run after the first one. */
  again(): void;
  /** Returns the part of an event that the reader has not got yet; null if there is none. Throws device_lost if the runs differ. */
  pass(event: Event): Event | null;
}

type Generated = Extract<TextEvent, { ids: number[] }>;

/** Events of one choice that the reader has got, and the place of the current run. */
interface Choice {
  ids: number[];
  /** UTF-16 code units of text, reasoning and arguments. */
  length: number;
  /** Number of tool calls that have begun. */
  calls: number;
  isDone: boolean;
  /** Tokens and code units of the current run. */
  run: { ids: number; length: number };
}

/** A text request: tokens depend on the seed and the position alone, so a request with a fixed seed repeats them. */
export class TextRepeat implements Repeat<TextRequest, TextEvent> {
  readonly #first: TextRequest;
  readonly #begun = performance.now();
  request: TextRequest;
  readonly #choices = new Map<number, Choice>();
  readonly #once = new Set<string>();
  /** Whether the request has left the queue. */
  #hasPlace = false;
  #isRepeated = false;

  constructor(request: TextRequest) {
    const isRecord = typeof request === 'object' && request !== null;
    this.#first = isRecord
      ? { ...request, seed: request.seed ?? Math.floor(Math.random() * 2 ** 32) }
      : request;
    this.request = this.#first;
  }

  again(): void {
    this.#isRepeated = true;
    const { timeouts } = this.#first;
    const waited = Math.round(performance.now() - this.#begun) + (timeouts?.waited ?? 0);
    // A request that had a place before does not exceed its time in the queue now.
    const queue = this.#hasPlace && { queue: LIMITS.timeout };
    this.request = { ...this.#first, timeouts: { ...timeouts, waited, ...queue } };
    for (const choice of this.#choices.values()) choice.run = { ids: 0, length: 0 };
  }

  pass(event: TextEvent): TextEvent | null {
    if (event.type === 'accepted' || event.type === 'prompt') {
      if (this.#once.has(event.type)) return null;
      this.#once.add(event.type);
      return event;
    }
    this.#hasPlace = true;
    if (event.type === 'prefill') return this.#isRepeated ? null : event;
    const choice = this.#choice(event.choice);
    if (event.type !== 'done') return this.#generated(choice, event);
    if (choice.isDone) return null;
    const isShort = choice.run.ids < choice.ids.length;
    if (isShort && event.finishReason !== 'abort') throw differs();
    choice.isDone = true;
    return isShort ? { ...event, completionTokens: choice.ids.length } : event;
  }

  #choice(index: number): Choice {
    const known = this.#choices.get(index);
    if (known) return known;
    const choice = { ids: [], length: 0, calls: 0, isDone: false, run: { ids: 0, length: 0 } };
    this.#choices.set(index, choice);
    return choice;
  }

  #generated(choice: Choice, event: Generated): Generated | null {
    const { run } = choice;
    const text = event.type === 'toolCall' ? event.arguments : event.text;
    const oldIds = Math.min(event.ids.length, choice.ids.length - run.ids);
    const oldLength = Math.min(text.length, choice.length - run.length);
    for (let i = 0; i < oldIds; i++) if (event.ids[i] !== choice.ids[run.ids + i]) throw differs();
    run.ids += event.ids.length;
    run.length += text.length;
    for (const id of event.ids.slice(oldIds)) choice.ids.push(id);
    choice.length += text.length - oldLength;
    const begins = event.type === 'toolCall' && event.name !== undefined && event.call >= choice.calls;
    if (begins) choice.calls = event.call + 1;
    const isOld = oldIds === event.ids.length && oldLength === text.length;
    if (this.#isRepeated && isOld && !begins) return null;
    return oldIds === 0 && oldLength === 0 ? event : newPart(event, oldIds, oldLength);
  }
}

/** Returns an event without its first tokens and characters. The name and id of a tool call are in its first part. */
function newPart(event: Generated, ids: number, length: number): Generated {
  const rest = {
    choice: event.choice,
    ids: event.ids.slice(ids),
    ...(event.logprobs && { logprobs: event.logprobs.slice(ids) }),
  };
  if (event.type === 'toolCall')
    return { type: 'toolCall', call: event.call, arguments: event.arguments.slice(length), ...rest };
  return { type: event.type, text: event.text.slice(length), ...rest };
}

function differs(): EngineError {
  return new EngineError(
    'device_lost',
    "the engine's window ended, and its successor computes other tokens: send the request again",
  );
}

/** A request whose events can be told apart by some of their members, and that states its seed itself. */
export class PlainRepeat<Request, Event extends { type: string }> implements Repeat<Request, Event> {
  readonly request: Request;
  readonly #passed = new Map<string, number>();
  /** Events of the current run, by key. */
  #seen = new Map<string, number>();

  constructor(request: Request) {
    this.request = request;
  }

  again(): void {
    this.#seen = new Map();
  }

  pass(event: Event): Event | null {
    const { type, sample, step, name, index } = event as Event & Record<string, unknown>;
    const key = JSON.stringify([type, sample, step, name, index]);
    const seen = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, seen);
    if (seen <= (this.#passed.get(key) ?? 0)) return null;
    this.#passed.set(key, seen);
    return event;
  }
}
