// Plans the reasoning of a reply: variables of the template for a reasoning effort, or a token budget if the template has none.

import { countText } from '../../../files/count-text.ts';
import { EngineError } from '../../../files/error.ts';
import type { ChatTemplate } from '../../../files/template/template.ts';
import type { ReasoningEffort, ReasoningOptions } from '../calls/text-model.ts';
import type { OutputFormat, ReasoningFormat } from './format.ts';

export interface ThinkingPlan {
  /** Template variables; variables of the request take precedence. */
  kwargs: Record<string, unknown>;
  /** Maximum number of reasoning tokens; null: unlimited. */
  budget: number | null;
  separate: boolean;
  stream: boolean;
}

/** Token budgets for models whose template has no variable for the effort. */
const BUDGETS: Record<ReasoningEffort, number | null> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: null,
  high: 8192,
  xhigh: 16384,
  max: 32768,
};

/** Efforts that models with channels were trained on. */
const CHANNEL_EFFORTS: Partial<Record<ReasoningEffort, ReasoningEffort>> = {
  minimal: 'low',
  xhigh: 'high',
  max: 'high',
};

/** Reasoning tags of a format. For channels, the message headers serve as tags. */
export function thinkingTags({ reasoning, channels }: OutputFormat): ReasoningFormat | null {
  if (!channels) return reasoning;
  const { name, start, channel, message, end } = channels;
  return {
    name,
    begin: `${channel}${channels.reasoning}${message}`,
    end,
    gap: `${start}assistant`,
    answer: { begin: `${channel}${channels.answer}${message}`, end: '' },
  };
}

/** Plans the reasoning. Throws bad_request for an effort or a budget that has no effect on this model. */
export function planThinking(
  { effort, budget, separate = true, stream = true }: ReasoningOptions,
  format: OutputFormat,
  template: ChatTemplate,
  model: string,
): ThinkingPlan {
  const thinks = thinkingTags(format) !== null;
  const plan: ThinkingPlan = { kwargs: {}, budget: budget ?? null, separate, stream };
  if (budget !== undefined && !thinks)
    throw refusal('reasoning.budget', `a budget of ${countText(budget, 'token')}`, model);
  if (format.channels && effort === 'none') {
    throw new EngineError(
      'bad_request',
      `reasoning.effort is none, and ${model} always thinks: low is its least`,
      { param: 'reasoning.effort' },
    );
  }
  const said = effort ?? (format.channels ? 'medium' : undefined);
  if (said === undefined) return plan;
  const switches = ['thinking', 'enable_thinking'].filter((name) => template.reads(name));
  if (said !== 'medium') for (const name of switches) plan.kwargs[name] = said !== 'none';
  if (template.reads('reasoning_effort')) {
    plan.kwargs['reasoning_effort'] = (format.channels && CHANNEL_EFFORTS[said]) ?? said;
    return plan;
  }
  if (said === 'medium' || (said === 'none' && (!thinks || switches.length > 0))) return plan;
  if (!thinks) throw refusal('reasoning.effort', `effort ${said}`, model);
  plan.budget ??= BUDGETS[said];
  return plan;
}

function refusal(param: string, asked: string, model: string): EngineError {
  return new EngineError(
    'bad_request',
    `${param} asks for ${asked}, and ${model} has no reasoning that could be separated: leave it out`,
    { param },
  );
}
