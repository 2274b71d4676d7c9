// The constraint that enforces a request's grammar and reasoning budget on one choice.

import type { Constraint } from '../calls/constraint.ts';
import { withEngineErrors } from '../calls/grammar-error.ts';
import type { Grammar } from '../../../grammar/grammar.ts';
import type { SchemaMode } from '../../../grammar/text-constraint.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { TextConstraint, TextPrompt, TextRequest, Tool } from '../calls/text-request.ts';
import { callOpeners } from './calls.ts';
import type { OutputFormat } from './format.ts';
import type { ReplyContext, ReplyPlan } from './reply.ts';
import type { ReplyGrammar } from './reply-rule.ts';
import type { Begins } from './reply-start.ts';
import { createThinkingConstraint } from './thinking-constraint.ts';

/** The grammar of a reply; null: none is needed. Without calls and tags it is the constraint of the request itself. */
export function grammarOfReply(
  { constraint, prompt }: TextRequest,
  { format, tools }: ReplyPlan,
  begins: Begins,
  { tokenizer, jsonSchemaMode: mode }: ReplyContext & { jsonSchemaMode: SchemaMode },
): TextConstraint | ReplyGrammar | null {
  const answer = constraint ?? null;
  const strict = tools.tools.some((tool) => tool.function.strict);
  if (answer === null && tools.mode !== 'required' && !strict) return null;
  const answering = begins === 'answer';
  if (answer !== null && tools.mode === 'none' && !hasTags(format)) return answer;
  return {
    type: 'reply',
    format,
    tools,
    given: toolsOf(prompt),
    answer,
    answering,
    mode,
    specials: specialsIn(format, tokenizer),
  };
}

export function toolsOf(prompt: TextPrompt): readonly Tool[] {
  return ('tools' in prompt && prompt.tools) || [];
}

/** Ids of the special tokens in the markers of a format, by text. */
export function specialsIn(format: OutputFormat, tokenizer: Tokenizer): Record<string, number> {
  const texts = JSON.stringify(format);
  const ids = [...tokenizer.specialIds].map((id) => [tokenizer.tokenText(id), id] as const);
  return Object.fromEntries(ids.filter(([text]) => texts.includes(JSON.stringify(text).slice(1, -1))));
}

function hasTags({ channels, reasoning }: ReplyPlan['format']): boolean {
  return channels !== null || reasoning?.answer !== undefined;
}

interface ConstraintContext extends ReplyContext {
  endIds: readonly number[];
  /** Text before the reply that the grammar matches first. */
  matched: string;
  /** See Grammar.start. */
  opens: boolean;
}

/** Constraint of one choice; null: any token is allowed. */
export function createReplyConstraint(
  { tags, thinking, format, tools }: ReplyPlan,
  begins: Begins,
  grammar: Grammar | null,
  { tokenizer, endIds, matched, opens }: ConstraintContext,
): Constraint | null {
  const budget = thinking?.budget ?? null;
  if (tags === null || begins === 'closed' || begins === 'answer' || (grammar === null && budget === null))
    return grammar && withEngineErrors(() => grammar.start({ matched, opens }));
  const encode = (text: string): number[] => tokenizer.encode(text, { addSpecialTokens: false });
  const { begin, end, gap = '', answer } = tags;
  const [endId, ...more] = encode(end);
  const line = gap.startsWith('\n') ? '\n' : '';
  // In channels another message follows; it must be the answer if the request has no tools.
  const next = format.channels && grammar === null && tools.mode === 'none' ? (answer?.begin ?? '') : '';
  const callMarks = tags.callsEnd && format.tools ? callOpeners(format.tools).map(encode) : [];
  return createThinkingConstraint({
    grammar: grammar && ((first) => grammar.start({ opens: first && opens })),
    begins,
    begin: encode(begin),
    isEnd: (id, tail) => (more.length === 0 ? id === endId : tail.includes(end)),
    textOf: (id) => tokenizer.tokenText(id),
    gap: gap === '' ? [] : encode(gap),
    close: encode(line + end + gap + next),
    budget,
    banned: [...endIds, ...callMarks.filter((ids) => ids.length === 1).flat()],
  });
}
