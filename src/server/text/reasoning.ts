// The fields that control the length of reasoning and its place in the reply: those of OpenAI, SGLang, vLLM and OpenRouter.

import { z } from 'zod';
import type { ReasoningOptions } from '../../index.ts';
import { fieldError } from '../http/errors.ts';
import { REASONING } from '../../options/conversation.ts';
import { membersOf } from '../body/setting-fields.ts';
import { by, type FieldTable, type HonouredBody, honoured, withoutMissing } from '../body/fields.ts';

const { effort: optionalEffort, budget: optionalBudget } = membersOf(REASONING);
export const effort = optionalEffort.unwrap().unwrap();
const budget = optionalBudget.unwrap().unwrap();

export const REASONING_FIELDS = by('engine/text/output/reply-plan.ts', {
  reasoning_effort: {
    ...honoured(
      effort,
      'none, minimal, low, medium, high, xhigh or max: for the template that reads it, elsewhere a thinking budget.',
    ),
    // The default is passed on when sent, because a template may have another default.
    defaultText: '`"medium"`',
  },
  reasoning: honoured(
    z.looseObject({ effort: optionalEffort, enabled: z.boolean().nullish(), max_tokens: optionalBudget }),
    "OpenRouter's form: effort, enabled, max_tokens (the thinking budget).",
  ),
  thinking_budget: honoured(budget, 'Most tokens of thinking; then it is ended.'),
  thinking_token_budget: honoured(budget, "The same under vLLM's name."),
  separate_reasoning: honoured(z.boolean(), 'false: thoughts stay in content, tags included.', true),
  stream_reasoning: honoured(z.boolean(), 'false: thoughts come in one piece when they are over.', true),
} satisfies FieldTable);

type Effort = z.infer<typeof effort>;

export type ReasoningFields = HonouredBody<typeof REASONING_FIELDS>;

export function toReasoning(body: ReasoningFields): ReasoningOptions | undefined {
  const options: ReasoningOptions = withoutMissing({
    effort: efforts(body)[0]?.[1],
    budget: budgets(body)[0]?.[1],
    separate: body.separate_reasoning,
    stream: body.stream_reasoning,
  });
  return Object.keys(options).length > 0 ? options : undefined;
}

/** Returns template variables for models that reason only if they are asked to. */
export function thinkingKwargs({ reasoning }: ReasoningFields): Record<string, unknown> | undefined {
  return reasoning?.enabled ? { thinking: true, enable_thinking: true } : undefined;
}

/** Several fields may set the same option, but they must agree. */
export function checkReasoning(body: ReasoningFields): void {
  for (const said of [efforts(body), budgets(body)]) {
    const [first] = said;
    const other = said.find(([, value]) => value !== first?.[1]);
    if (first && other) {
      throw fieldError(other[0], `says ${other[1]}, and ${first[0]} says ${first[1]}; send one of them`);
    }
  }
  if (body.reasoning?.enabled && efforts(body)[0]?.[1] === 'none') {
    throw fieldError('reasoning.enabled', 'is true, and the effort is none; send one of them');
  }
}

type Said<T> = [field: string, value: T][];

function efforts({ reasoning_effort, reasoning }: ReasoningFields): Said<Effort> {
  return given([
    ['reasoning_effort', reasoning_effort],
    ['reasoning.effort', reasoning?.effort],
    ['reasoning.enabled', reasoning?.enabled === false ? 'none' : undefined],
  ]);
}

function budgets({ thinking_budget, thinking_token_budget, reasoning }: ReasoningFields): Said<number> {
  return given([
    ['thinking_budget', thinking_budget],
    ['thinking_token_budget', thinking_token_budget],
    ['reasoning.max_tokens', reasoning?.max_tokens],
  ]);
}

function given<T>(said: [string, T | null | undefined][]): Said<T> {
  return said.filter((entry): entry is [string, T] => entry[1] != null);
}

/** Maps the engine's reasoning options to the fields they came from; `processorField` provided the budget if no other field did. */
export function reasoningPaths(
  body: ReasoningFields,
  processorField: string,
): [engine: string, field: string][] {
  const effortField = efforts(body)[0]?.[0];
  const budgetField = budgets(body)[0]?.[0];
  const streamField = body.stream_reasoning === undefined ? undefined : 'stream_reasoning';
  const separateField = body.separate_reasoning === undefined ? undefined : 'separate_reasoning';
  return [
    ['reasoning.effort', effortField ?? 'reasoning_effort'],
    ['reasoning.budget', budgetField ?? processorField],
    ['reasoning.separate', 'separate_reasoning'],
    ['reasoning.stream', 'stream_reasoning'],
    ['reasoning', effortField ?? budgetField ?? separateField ?? streamField ?? 'reasoning_effort'],
  ];
}
