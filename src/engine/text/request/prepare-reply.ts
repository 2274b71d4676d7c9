// Prepares a request before it is scheduled: compiles its stops, renders and tokenizes its prompt, and compiles its grammar.

import { EngineError } from '../../../files/error.ts';
import type { Lora } from '../lora/loras.ts';
import type { Grammar } from '../../../grammar/grammar.ts';
import type { FoundGrammar } from '../threads/grammar-cache.ts';
import type { GrammarSource } from '../threads/grammar-source.ts';
import { CALL_ARGUMENTS, type CallGrammars } from '../output/call-constraint.ts';
import { callSources, callSyntaxes } from '../output/call-grammars.ts';
import { grammarOfReply, specialsIn, toolsOf } from '../output/reply-constraint.ts';
import { planReply, type ReplyPlan } from '../output/reply.ts';
import { checkWgsl, withThinkingBudget } from './processors.ts';
import { stopsOf } from './request-stops.ts';
import type { PromptMedia } from '../towers/prompt-media.ts';
import { renderPrompt, type PromptEnd } from './prompt.ts';
import type { Reply, RequestContext } from './sequences.ts';
import type { TextRequest, UnenforcedKeyword } from '../calls/text-model.ts';

export interface PreparedReply {
  /** Token ids of the prompt. */
  ids: number[];
  /** Media among them; null: none. */
  media: PromptMedia | null;
  reply: Reply;
  /** Milliseconds that the request's grammar took to compile; null: it has none, or it was compiled already. */
  compileMs: number | null;
  /** Keywords of tools' parameters that do not restrict calls. */
  unenforced: readonly UnenforcedKeyword[];
}

/** Errors: bad_request, context_length_exceeded, timed_out, cancelled where `signal` aborts. `ended` ends the reading of media, with its reason. */
export async function prepareReply(
  request: TextRequest,
  lora: Lora | null,
  context: RequestContext,
  { signal, ended }: PromptEnd,
): Promise<PreparedReply> {
  const { grammars, longText, checkProcessor } = context;
  await checkWgsl(request, checkProcessor);
  const stops = await stopsOf(request, longText?.stops ?? null, signal);
  const plan = planReply(withThinkingBudget(request), context);
  const { ids, media, begins, said } = await renderPrompt(plan.prompt, context, request, { signal, ended });
  const source = grammarOfReply(withSchemaMode(request, context), plan, begins, context);
  const found = source ? await grammars.get(source, signal, request.cacheSalt ?? null) : null;
  const calls = source === null ? await callGrammars(plan, request, context, signal) : null;
  if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled before it began');
  const grammar = found?.grammar ?? null;
  const reply = { plan, begins, said, grammar, callGrammars: calls?.grammars ?? null, stops, lora };
  const unenforced = found?.unenforced ?? calls?.unenforced ?? [];
  return { ids, media, reply, compileMs: found?.compileMs ?? null, unenforced };
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

/** The grammars of optional calls, and what they do not enforce. A tool whose grammar does not compile has none; null: calls are not optional. */
async function callGrammars(
  plan: ReplyPlan,
  { cacheSalt, prompt }: TextRequest,
  { grammars, jsonSchemaMode: mode, tokenizer }: RequestContext,
  signal: AbortSignal | undefined,
): Promise<{ grammars: CallGrammars; unenforced: UnenforcedKeyword[] } | null> {
  const syntaxes = callSyntaxes(plan);
  if (syntaxes.length === 0) return null;
  const compiled = (source: GrammarSource): Promise<FoundGrammar | null> =>
    grammars.get(source, signal, cacheSalt ?? null).catch(withoutGrammar);
  // If the vocabulary cannot spell JSON, the grammar does not compile and calls in JSON stay unconstrained.
  const anyObject = syntaxes.includes('json') ? await compiled(CALL_ARGUMENTS) : null;
  const specials = specialsIn(plan.format, tokenizer);
  const { sources, unenforced, ...all } = callSources(plan, { given: toolsOf(prompt), mode, specials });
  const names = await compiled(all.names);
  const byTool = new Map<string, Grammar>();
  const waiting = [...sources];
  const compileWaiting = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [key, source] = next;
      const made = await compiled(source);
      const whole = { tool: source.tool.function.name, pointer: '', keyword: null };
      unenforced.push(...(made?.unenforced ?? [whole]));
      if (made !== null) byTool.set(key, made.grammar);
    }
  };
  try {
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, compileWaiting));
  } finally {
    waiting.length = 0;
  }
  return {
    grammars: { names: names?.grammar ?? null, anyObject: anyObject?.grammar ?? null, byTool },
    // A tool may have a grammar for each of several syntaxes.
    unenforced: [...new Map(unenforced.map((one) => [JSON.stringify(one), one])).values()],
  };
}
