// Prepares a request before it is scheduled: compiles its stops, renders and tokenizes its prompt, and compiles its grammar.

import type { Grammar } from '../../grammar/grammar.ts';
import { EngineError } from '../../files/error.ts';
import type { Adapter } from './adapters.ts';
import { argumentsByTool, CALL_ARGUMENTS, mayConstrainCalls } from './output/call-constraint.ts';
import { grammarOfReply } from './output/reply-constraint.ts';
import { planReply, type ReplyPlan } from './output/reply.ts';
import { checkWgsl, withThinkingBudget } from './processors.ts';
import { stopsOf } from './request-stops.ts';
import type { PromptMedia } from './media/prompt-media.ts';
import { renderPrompt, type PromptEnd } from './prompt.ts';
import type { Reply, RequestContext } from './request.ts';
import type { TextRequest } from './text-model.ts';

export interface PreparedReply {
  /** Token ids of the prompt. */
  ids: number[];
  /** Media among them; null: none. */
  media: PromptMedia | null;
  reply: Reply;
  /** Milliseconds that the request's grammar took to compile; null: it has none, or it was compiled already. */
  compileMs: number | null;
}

/** Errors: bad_request, context_length_exceeded, timed_out, cancelled where `signal` aborts. `ended` ends the reading of media, with its reason. */
export async function prepareReply(
  request: TextRequest,
  adapter: Adapter | null,
  context: RequestContext,
  { signal, ended }: PromptEnd,
): Promise<PreparedReply> {
  const { grammars, longText, checkProcessor } = context;
  await checkWgsl(request, checkProcessor);
  const stops = await stopsOf(request, longText?.stops ?? null, signal);
  const plan = planReply(withThinkingBudget(request), context);
  const { ids, media, begins, said } = await renderPrompt(plan.prompt, context, request, { signal, ended });
  const client = request.cacheSalt ?? null;
  const source = grammarOfReply(withSchemaMode(request, context), plan, begins, context);
  const found = source ? await grammars.get(source, signal, client) : null;
  // If the vocabulary cannot spell JSON, the grammar does not compile and calls stay unconstrained.
  const isConstrained = source === null && mayConstrainCalls(plan);
  const compiled = isConstrained
    ? await grammars.get(CALL_ARGUMENTS, signal, client).catch(withoutGrammar)
    : null;
  const byTool =
    compiled === null ? new Map<string, Grammar>() : await grammarsByTool(plan, client, context, signal);
  if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
  const grammar = found?.grammar ?? null;
  const argumentsGrammars = compiled && { any: compiled.grammar, byTool };
  const reply = { plan, begins, said, grammar, argumentsGrammars, stops, adapter };
  return { ids, media, reply, compileMs: found?.compileMs ?? null };
}

/** The request with a constraint that says how its JSON Schemas are read. */
function withSchemaMode(request: TextRequest, { jsonSchemaMode }: RequestContext): TextRequest {
  const { constraint } = request;
  switch (constraint?.type) {
    case 'json_schema':
    case 'structural_tag':
    case 'format':
      return {
        ...request,
        constraint: { ...constraint, strict: constraint.strict ?? jsonSchemaMode === 'declared' },
      };
    default:
      return request;
  }
}

/** Returns null for a grammar that never compiles. Throws errors that another attempt may not have, such as timed_out. */
function withoutGrammar(error: unknown): null {
  const isRefused = error instanceof EngineError && ['bad_request', 'unsupported'].includes(error.code);
  if (!isRefused) throw error;
  return null;
}

/** Grammars of one request's tools that are compiled at once. Of a thousand tools each would take turns from other requests' grammars. */
const MOST_AT_ONCE = 4;

/** The grammars of the tools' arguments, without those that do not compile. */
async function grammarsByTool(
  plan: ReplyPlan,
  client: string | null,
  { grammars, jsonSchemaMode }: RequestContext,
  signal: AbortSignal | undefined,
): Promise<Map<string, Grammar>> {
  const found = new Map<string, Grammar>();
  const waiting = [...argumentsByTool(plan.tools, jsonSchemaMode)];
  const compileWaiting = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [name, source] = next;
      const compiled = await grammars.get(source, signal, client).catch(withoutGrammar);
      if (compiled !== null) found.set(name, compiled.grammar);
    }
  };
  try {
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, compileWaiting));
  } finally {
    waiting.length = 0;
  }
  return found;
}
