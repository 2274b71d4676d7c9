// What restricts the reply to a request: the grammars of its constraint and its tools, and for each choice the constraint on its next tokens
// that follows from them, from the reasoning and from the processors of the request.

import { EngineError } from '../../../files/error.ts';
import { opensText } from '../../../files/tokenizer/detokenizer.ts';
import type { Grammar } from '../../../grammar/grammar.ts';
import type { Constraint } from '../calls/constraint.ts';
import { createPieces } from '../calls/piece.ts';
import type { TextRequest } from '../calls/text-model.ts';
import { CALL_ARGUMENTS, createCallConstraint, withCallConstraint } from '../output/call-constraint.ts';
import { createOutput } from '../output/parser.ts';
import { createReplyConstraint } from '../output/reply-constraint.ts';
import { callSources, callSyntaxes, grammarOfReply, specialsIn, toolsOf } from '../output/reply-grammars.ts';
import type { ReplyPlan } from '../output/reply-plan.ts';
import type { FoundGrammar } from '../threads/grammar-cache.ts';
import type { GrammarSource } from '../threads/grammar-source.ts';
import { withProcessors } from './processors.ts';
import { beginningOf } from './source-prompt.ts';
import type { PreparedReply, ReplyGrammars, RequestContext } from './request-context.ts';

const NO_GRAMMARS: ReplyGrammars = { reply: null, calls: null, compileMs: null, unenforced: [] };

/** Compiles the grammar of the reply, or else those of its optional calls. */
export async function compileGrammars(
  request: TextRequest,
  { plan, prompt: { begins } }: Pick<PreparedReply, 'plan' | 'prompt'>,
  context: RequestContext,
  signal: AbortSignal | undefined,
): Promise<ReplyGrammars> {
  const compile = (source: GrammarSource): Promise<FoundGrammar> =>
    context.grammars.get(source, signal, request.cacheSalt ?? null);
  const source = grammarOfReply(withSchemaMode(request, context), plan, begins, context);
  if (source === null) return callGrammars(plan, request, context, compile);
  const { grammar, compileMs, unenforced } = await compile(source);
  return { reply: grammar, calls: null, compileMs, unenforced };
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

/** The grammars of optional calls, and what they do not enforce. A tool whose grammar does not compile has none. */
async function callGrammars(
  plan: ReplyPlan,
  { prompt }: TextRequest,
  { jsonSchemaMode: mode, tokenizer }: RequestContext,
  compile: (source: GrammarSource) => Promise<FoundGrammar>,
): Promise<ReplyGrammars> {
  const syntaxes = callSyntaxes(plan);
  if (syntaxes.length === 0) return NO_GRAMMARS;
  const compiled = (source: GrammarSource): Promise<FoundGrammar | null> =>
    compile(source).catch(withoutGrammar);
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
    ...NO_GRAMMARS,
    calls: { names: names?.grammar ?? null, anyObject: anyObject?.grammar ?? null, byTool },
    // A tool may have a grammar for each of several syntaxes.
    unenforced: [...new Map(unenforced.map((one) => [JSON.stringify(one), one])).values()],
  };
}

/** Options of decoding tokens to text. */
export interface Reading {
  skipSpecialTokens: boolean;
  /** Ids of the text that the reply continues; empty: the reply is a separate text. */
  after: number[];
}

/** Returns a function that makes the constraint of one choice; its null: any token may follow. */
export function constraintsOf(
  request: TextRequest,
  { plan, prompt, grammars }: PreparedReply,
  reading: Reading,
  context: RequestContext,
): () => Constraint | null {
  const { begins, said } = prompt;
  const { tokenizer } = context;
  const opens = opensText(tokenizer, reading);
  // The constraint on the answer does not apply to a required tool call.
  const matched = request.constraint && plan.tools.mode !== 'required' ? said : '';
  const { vocabulary } = context.grammars;
  const processed = withProcessors(request.processors ?? [], {
    vocabulary,
    prompt: beginningOf(prompt),
    opens,
  });
  const read = () => ({
    output: createOutput(plan, begins, context),
    pieces: createPieces(tokenizer, { ...reading, skipSpecialTokens: true }),
  });
  return () => {
    const own = createReplyConstraint(plan, begins, grammars.reply, { ...context, matched, opens });
    if (grammars.calls === null) return processed(own);
    return processed(withCallConstraint(own, createCallConstraint({ ...grammars.calls, read })));
  };
}
