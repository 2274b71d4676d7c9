// Who sends a request: the key that it came with. The handlers of a request find it without passing it on.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { EmbeddingEvent, TextEvent, TranscriptionEvent } from '../../index.ts';
import { RequestError } from '../http/errors.ts';
import type { KeyLimits } from './key-limits.ts';

export interface Caller {
  /** Name of the key, as the log has it. */
  readonly name: string;
  /** May change what is served. */
  readonly admin: boolean;
  /** Names of the models that the key may use; null: all. */
  readonly models: readonly string[] | null;
  /** null: none. */
  readonly limits: KeyLimits | null;
}

const callers = new AsyncLocalStorage<Caller>();

/** Runs the handler of a request in the name of its caller. */
export const runAs = <T>(caller: Caller, handle: () => T): T => callers.run(caller, handle);

/** Returns the caller of the running request; undefined where the server asks for no key. */
export const currentCaller = (): Caller | undefined => callers.getStore();

const inner = new WeakMap<Request, Caller>();

/** Marks a request that the server makes itself, in the name of a caller that has been asked for its key before. */
export function inName(caller: Caller, request: Request): Request {
  inner.set(request, caller);
  return request;
}

export const innerCaller = (request: Request): Caller | undefined => inner.get(request);

/** Whether the caller may use a model with these names. */
export const mayUse = (names: readonly string[]): boolean => isFor(currentCaller(), names);

/** Whether a caller, or anybody where it is undefined, may use a model with these names. */
export function isFor(caller: Caller | undefined, names: readonly string[]): boolean {
  const models = caller?.models ?? null;
  return models === null || names.some((name) => models.includes(name));
}

/** The models that the caller may use, which are those that it is shown. */
export function visibleSlots<S extends { readonly names: readonly string[] }>({
  slots,
}: {
  readonly slots: readonly S[];
}): S[] {
  return slots.filter(({ names }) => mayUse(names));
}

/** Throws RequestError if the caller may not use the model with these names. */
export function requireUse(names: readonly string[]): void {
  if (mayUse(names)) return;
  const { name, models } = currentCaller()!;
  throw new RequestError(
    'forbidden_model',
    `the key ${name} may not use ${names[0] ?? 'this model'}; it is for ${models!.join(', ')}`,
    { param: 'model' },
  );
}

/** Name of the key that a request came with, '' without one. */
export const ownerNow = (): string => currentCaller()?.name ?? '';

/** Whether the caller of the running request may see what belongs to an owner: its own, or everything with an administrator's key. */
export const isOwn = (owner: string): boolean => owner === ownerNow() || (currentCaller()?.admin ?? true);

/** Counts the tokens of a request against the limits of its caller. */
export function meterTokens<T extends MeteredEvent>(
  events: AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  const limits = currentCaller()?.limits;
  return limits ? metered(events, limits) : events;
}

type MeteredEvent = TextEvent | EmbeddingEvent | TranscriptionEvent;

async function* metered<T extends MeteredEvent>(
  events: AsyncGenerator<T, void, void>,
  limits: KeyLimits,
): AsyncGenerator<T, void, void> {
  for await (const event of events) {
    limits.countTokens(tokensOf(event));
    yield event;
  }
}

/** Tokens of the prompts, when they are accepted, and of texts, as they come. */
function tokensOf(event: MeteredEvent): number {
  if (event.type === 'segment') return event.segment.tokens.length;
  if ('promptTokens' in event && event.type === 'accepted') return event.promptTokens;
  if (event.type === 'accepted')
    return 'tokens' in event ? event.tokens.reduce((sum, each) => sum + each, 0) : 0;
  return 'ids' in event ? event.ids.length : 0;
}
