// Runs the calls of one reply. Whatever goes wrong with a call is its result, so that the model can correct itself: an unknown tool, arguments that are not
// JSON or do not fit, a refusal, an error, a timeout. Only the end of the whole reply is an error.

import { EngineError, reasonOf } from '../files/error.ts';
import { readValue } from './schema.ts';
import type { AnyTools, ToolContext } from './tools.ts';

/** A call as the model wrote it. */
export interface WrittenCall {
  id: string;
  name: string;
  /** JSON, as text. */
  arguments: string;
}

/** A call with its arguments as a value: the text itself where it is no JSON. */
export interface ToolCallOf {
  id: string;
  name: string;
  arguments: unknown;
}

export interface ToolOutcome extends ToolCallOf {
  /** What `run` returned, or what went wrong as text. */
  result: unknown;
  isError: boolean;
}

/** Decides whether a call may run: false, or a reason as text, refuses it, and the model is told. */
export type ConfirmCall = (
  call: ToolCallOf,
  context: ToolContext,
) => boolean | string | Promise<boolean | string>;

export interface CallRules {
  tools: AnyTools;
  /** Milliseconds; left out: no limit. */
  toolTimeout?: number | undefined;
  confirm?: ConfirmCall | undefined;
}

/** The call with its arguments read. */
export function readCall({ id, name, arguments: text }: WrittenCall): ToolCallOf {
  try {
    return { id, name, arguments: JSON.parse(text === '' ? '{}' : text) };
  } catch {
    return { id, name, arguments: text };
  }
}

/** Runs a call to its end. Throws when `signal` aborts, cancelled, and what `confirm` throws. */
export async function runCall(call: ToolCallOf, rules: CallRules, signal: AbortSignal): Promise<ToolOutcome> {
  const { tools, toolTimeout } = rules;
  const failed = (problem: string): ToolOutcome => ({ ...call, result: problem, isError: true });
  const known = Object.hasOwn(tools, call.name) ? tools[call.name]! : null;
  if (known === null)
    return failed(
      `there is no tool ${JSON.stringify(call.name)}; the tools are ${Object.keys(tools).join(', ')}`,
    );
  const isJson = typeof call.arguments === 'object' && call.arguments !== null;
  const read = isJson
    ? await readValue(known.schema, call.arguments)
    : { problem: 'the arguments must be a JSON object' };
  if ('problem' in read) return failed(`the arguments do not fit: ${read.problem}`);
  const refusal = await refusalOf(call, rules, signal);
  if (refusal !== null) return failed(refusal);
  try {
    const run = (context: ToolContext): unknown => known.run(read.value as never, context);
    return {
      ...call,
      result: await inTime(run, call.id, known.timeout ?? toolTimeout, signal),
      isError: false,
    };
  } catch (error) {
    if (signal.aborted) throw replyAborted();
    return failed(reasonOf(error));
  }
}

async function refusalOf(
  call: ToolCallOf,
  { confirm }: CallRules,
  signal: AbortSignal,
): Promise<string | null> {
  if (confirm === undefined) return null;
  const verdict = await unlessAborted(
    Promise.resolve(confirm(call, { id: call.id, signal })),
    signal,
    replyAborted,
  );
  if (verdict === true) return null;
  return typeof verdict === 'string' ? verdict : 'the user does not allow this call';
}

/** Runs within a time; a tool that does not heed its signal is left behind. */
async function inTime(
  run: (context: ToolContext) => unknown,
  id: string,
  timeout: number | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  const controller = new AbortController();
  const late = new Error(`the tool did not answer within ${timeout} ms`);
  const timer = timeout === undefined ? undefined : setTimeout(() => controller.abort(late), timeout);
  const either = AbortSignal.any([signal, controller.signal]);
  try {
    const running = Promise.resolve().then(() => run({ signal: either, id }));
    return await unlessAborted(running, either, () => (signal.aborted ? replyAborted() : late));
  } finally {
    clearTimeout(timer);
  }
}

/** The promise's value, unless the signal aborts first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal, reason: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(reason());
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

export const replyAborted = (): EngineError =>
  new EngineError('cancelled', 'the reply was aborted; the conversation is as it was before');

/** The content of the message that tells the model a result. */
export function resultText({ result, isError }: ToolOutcome): string {
  if (isError) return JSON.stringify({ error: result });
  if (typeof result === 'string') return result;
  return JSON.stringify(result) ?? 'null';
}
