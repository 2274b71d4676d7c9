// Plans the reply to a request: the tools in the prompt, the reasoning, and the formats in which the generated tokens are parsed.

import type { ChatTemplate } from '../../../files/template/template.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { ChatMessage, TextPrompt, TextRequest, Tool } from '../calls/text-model.ts';
import type { OutputFormat, ReasoningFormat } from './format.ts';
import { plainOutput, type OutputParser } from '../calls/output-parser.ts';
import { createOutputParser } from './parser.ts';
import { markerMaker, type Marker } from './reader.ts';
import type { Begins } from './reply-start.ts';
import { planThinking, thinkingTags, type ThinkingPlan } from './thinking.ts';
import { planTools, type ToolPlan } from './tool-choice.ts';
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

/** Parser of the tokens of one choice. */
export function createOutput(plan: ReplyPlan, begins: Begins, { tokenizer }: ReplyContext): OutputParser {
  const { format, tools, thinking } = plan;
  if (!format.tools && !format.reasoning && !format.channels) return plainOutput();
  return createOutputParser(format, {
    tools: tools.mode === 'none' ? null : tools.tools,
    begins,
    separateReasoning: thinking?.separate ?? true,
    streamReasoning: thinking?.stream ?? true,
    reasoningFills: plan.fills,
    singleCall: tools.single,
    callsOnly: tools.mode === 'required',
    marker: markersOf(tokenizer),
  });
}

const makers = new WeakMap<Tokenizer, (text: string) => Marker>();

/** Cached per vocabulary. */
function markersOf(tokenizer: Tokenizer): (text: string) => Marker {
  const known = makers.get(tokenizer);
  if (known) return known;
  const maker = markerMaker((text) => {
    const id = tokenizer.tokenToId(text);
    return id !== null && tokenizer.specialIds.has(id) ? id : undefined;
  });
  makers.set(tokenizer, maker);
  return maker;
}
