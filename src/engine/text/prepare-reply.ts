// The part of a request's life before it is scheduled: its stops are compiled, its prompt is rendered and tokenized, its grammar compiled.

import { EngineError } from '../../files/error.ts';
import type { Adapter } from './adapters.ts';
import { HELD_ARGUMENTS, mayHoldCalls } from './output/held-calls.ts';
import { grammarOfReply } from './output/reply-constraint.ts';
import { planReply } from './output/reply.ts';
import { checkWgsl, withThinkingBudget } from './processors.ts';
import { stopsOf } from './request-stops.ts';
import { renderPrompt } from './prompt.ts';
import type { Reply, RequestContext } from './request.ts';
import type { TextRequest } from './text-model.ts';

export interface PreparedReply {
  /** Tokens of the prompt. */
  ids: number[];
  reply: Reply;
  /** Milliseconds that the request's grammar took to compile; null: it has none, or it was compiled already. */
  compileMs: number | null;
}

/** Errors: bad_request, context_length_exceeded, timed_out, cancelled where `signal` aborts. */
export async function prepareReply(
  request: TextRequest,
  adapter: Adapter | null,
  context: RequestContext,
  signal: AbortSignal | undefined,
): Promise<PreparedReply> {
  const { grammars, longText, checkProcessor } = context;
  await checkWgsl(request, checkProcessor);
  const stops = await stopsOf(request, longText?.stops ?? null, signal);
  const plan = planReply(withThinkingBudget(request), context);
  const { ids, begins, said } = await renderPrompt(plan.prompt, context, signal);
  const source = grammarOfReply(request, plan, begins, context);
  const found = source ? await grammars.get(source, signal) : null;
  // A vocabulary that cannot spell JSON holds no calls.
  const holds = source === null && mayHoldCalls(plan);
  const held = holds ? await grammars.get(HELD_ARGUMENTS, signal).catch(() => null) : null;
  if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
  const grammar = found?.grammar ?? null;
  const heldArguments = held?.grammar ?? null;
  const reply = { plan, begins, said, grammar, heldArguments, stops, adapter };
  return { ids, reply, compileMs: found?.compileMs ?? null };
}
