// Plans the reply to a request: the tools in the prompt and whether they may be called, the reasoning, and the formats in which the
// generated tokens are parsed.

import { countText } from '../../../files/count-text.ts';
import { badRequest, type EngineError } from '../../../files/error.ts';
import type { ChatTemplate } from '../../../files/template/template.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type {
  ChatMessage,
  ReasoningEffort,
  ReasoningOptions,
  TextPrompt,
  TextRequest,
  Tool,
} from '../calls/text-model.ts';
import type { OutputFormat, ReasoningFormat } from './format.ts';
import { JSON_CALLS } from './tool-formats.ts';

export interface ReplyContext {
  /** Output formats of the model. */
  output: OutputFormat;
  template: ChatTemplate;
  tokenizer: Tokenizer;
  /** Name of the model, for messages. */
  name: string;
}

export interface ReplyPlan {
  /** The prompt with the tools and variables that are passed to the template. */
  prompt: TextPrompt;
  /** Formats that are recognised in this reply. */
  format: OutputFormat;
  tools: ToolPlan;
  thinking: ThinkingPlan | null;
  /** Tags of the reasoning; null: reasoning is not recognised. */
  tags: ReasoningFormat | null;
  /** Whether reasoning without an answer is returned as the answer. */
  fills: boolean;
}

/** Plans a reply. The reply to a prompt without messages is plain text, unless the request has tools or `reasoning`. */
export function planReply(request: TextRequest, context: ReplyContext): ReplyPlan {
  const { output, template, name } = context;
  const { prompt, reasoning } = request;
  const tools = planTools(request);
  const reads = 'messages' in prompt || 'tools' in prompt || reasoning !== undefined;
  const thinking = reads ? planThinking(reasoning ?? {}, output, template, name) : null;
  const calls = tools.mode === 'none' || output.channels ? null : (output.tools ?? JSON_CALLS);
  return {
    prompt: 'messages' in prompt ? shown(prompt, tools.tools, thinking?.kwargs ?? {}, context) : prompt,
    format: {
      tools: calls,
      reasoning: reads ? output.reasoning : null,
      channels: reads ? output.channels : null,
    },
    tools,
    thinking,
    tags: reads ? thinkingTags(output) : null,
    fills: reads && asksToFill(prompt, output.reasoning),
  };
}

function asksToFill(prompt: TextPrompt, reasoning: ReasoningFormat | null): boolean {
  const variables = ('messages' in prompt && prompt.templateKwargs) || {};
  return reasoning?.fills !== undefined && variables[reasoning.fills] === true;
}

function shown(
  { messages, templateKwargs, continueFinal, dropOldest }: Extract<TextPrompt, { messages: ChatMessage[] }>,
  tools: Tool[],
  thinkingKwargs: Record<string, unknown>,
  { template, output }: ReplyContext,
): TextPrompt {
  const kwargs = { ...thinkingKwargs, ...templateKwargs };
  const explains = tools.length > 0 && !template.reads('tools');
  return {
    ...(continueFinal && { continueFinal }),
    ...(dropOldest && { dropOldest }),
    messages: explains ? withTools(messages, tools, output.tools ? '' : JSON_FORM) : messages,
    ...(tools.length > 0 && !explains && { tools }),
    ...(Object.keys(kwargs).length > 0 && { templateKwargs: kwargs }),
  };
}

const JSON_FORM =
  '\n\nTo call functions, answer with nothing but JSON: [{"name": <function>, "parameters": <object>}]';

/** Adds the tools to the first message, for a template that has no tools. `form`: text that explains the format of a call. */
function withTools(messages: readonly ChatMessage[], tools: readonly Tool[], form: string): ChatMessage[] {
  const functions = tools.map((tool) => JSON.stringify(tool.function)).join('\n');
  const text = `Functions:\n${functions}${form}`;
  return messages.map((message, at): ChatMessage => {
    if (at > 0) return message;
    const { content } = message;
    if (typeof content !== 'string' && content != null)
      return { ...message, content: [{ type: 'text', text }, ...content] };
    return { ...message, content: content ? `${text}\n\n${content}` : text };
  });
}

export interface ToolPlan {
  /** Tools that the prompt describes and whose calls are recognised: a call of any other tool is text. */
  tools: Tool[];
  mode: 'none' | 'auto' | 'required';
  /** At most one call is allowed. */
  single: boolean;
}

const NO_TOOLS: ToolPlan = { tools: [], mode: 'none', single: false };

/**
 * Only tools that may be called are in the prompt: a named tool alone, a list of allowed tools, or none with `none`. Throws
 * bad_request if the choice does not match the tools.
 */
export function planTools(request: TextRequest): ToolPlan {
  const { prompt, toolChoice: choice = 'auto', parallelToolCalls = true } = request;
  const given = ('tools' in prompt && prompt.tools) || [];
  if (choice === 'none') return NO_TOOLS;
  if (given.length === 0) {
    if (choice === 'auto') return NO_TOOLS;
    throw choiceRefusal(
      'toolChoice asks for a call, and the prompt has no tools: send the functions it may call',
    );
  }
  const isNamed = typeof choice === 'object' && 'name' in choice;
  const names = typeof choice === 'string' ? null : isNamed ? [choice.name] : choice.names;
  const tools = names === null ? given : names.map((name) => toolNamed(name, given));
  const mode = typeof choice === 'string' ? choice : isNamed ? 'required' : choice.mode;
  return { tools, mode, single: isNamed || !parallelToolCalls };
}

function toolNamed(name: string, tools: readonly Tool[]): Tool {
  const found = tools.find((tool) => tool.function.name === name);
  if (found) return found;
  const known = tools.map((tool) => tool.function.name).join(', ');
  throw choiceRefusal(
    `toolChoice names ${JSON.stringify(name)}, and the tools are ${known}: name one of them`,
  );
}

function choiceRefusal(message: string): EngineError {
  return badRequest(message, 'toolChoice');
}

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
    throw reasoningRefusal('reasoning.budget', `a budget of ${countText(budget, 'token')}`, model);
  if (format.channels && effort === 'none') {
    throw badRequest(
      `reasoning.effort is none, and ${model} always thinks: low is its least`,
      'reasoning.effort',
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
  if (!thinks) throw reasoningRefusal('reasoning.effort', `effort ${said}`, model);
  plan.budget ??= BUDGETS[said];
  return plan;
}

function reasoningRefusal(param: string, asked: string, model: string): EngineError {
  return badRequest(
    `${param} asks for ${asked}, and ${model} has no reasoning that could be separated: leave it out`,
    param,
  );
}
