// Converts a request of Anthropic's interface to a chat completion, and renames the fields in errors back.

import type { z } from 'zod';
import type { ChatMessage, ContentPart } from '../../index.ts';
import type { MEMBERS, MessageBody, PromptBody } from './anthropic-schema.ts';
import { fieldError } from '../http/errors.ts';
import { dataUrl } from '../media/read-media.ts';
import { imagePart } from '../media/named-parts.ts';
import { withoutMissing } from '../body/fields.ts';
import { SAMPLING } from '../../options/text-request.ts';
import { sharedFields } from '../body/setting-fields.ts';
import type { Renames } from '../body/renamed.ts';

export const MESSAGE_NAMES: Renames = [
  ['response_format.json_schema.schema', 'output_config.format.schema'],
  ['response_format.json_schema', 'output_config.format.schema'],
  ['response_format', 'output_config.format.schema'],
  ['max_completion_tokens', 'max_tokens'],
  ['reasoning_effort', 'output_config.effort'],
  ['reasoning.max_tokens', 'thinking.budget_tokens'],
  ['thinking_budget', 'thinking.budget_tokens'],
  ['reasoning', 'thinking'],
  ['tools.*.function.parameters', 'tools.*.input_schema'],
  ['tools.*.function', 'tools.*'],
  ['stop', 'stop_sequences'],
];

type Message = NonNullable<PromptBody['messages']>[number];
type Block = Exclude<Message['content'], string>[number];
interface LooseBlock {
  type: string;
  [member: string]: unknown;
}

type BlockOf<T extends keyof typeof MEMBERS> = z.infer<(typeof MEMBERS)[T]>;

/** The members of the request that make up the prompt, as members of a body of /v1/chat/completions. */
export function toPromptFields(body: PromptBody) {
  const { system, messages = [], tools, tool_choice: choice, thinking } = body;
  const said = messages.flatMap((message, at) => toMessages(message, `messages.${at}.content`));
  return withoutMissing({
    model: body.model,
    messages: [...instructionsOf(system), ...said],
    continue_final_message: isPrefill(messages) || undefined,
    tools: tools?.map(({ name, description, input_schema: parameters, strict }) => ({
      type: 'function',
      function: { name, description, parameters, strict },
    })),
    tool_choice: toChoice(choice),
    parallel_tool_calls: choice?.disable_parallel_tool_use ? false : undefined,
    reasoning: toReasoning(thinking),
  });
}

/**
 * Claude Code begins its prompt with a billing text that differs in each request; with it the prefix cache would never find the
 * prompt again.
 */
const BILLING = /^x-anthropic-billing-header:/;

function instructionsOf(system: PromptBody['system']): ChatMessage[] {
  if (system === undefined) return [];
  const blocks = typeof system === 'string' ? [{ type: 'text', text: system }] : system;
  const shown = blocks.filter(({ text }) => !BILLING.test(String(text)));
  return shown.length === 0 ? [] : [{ role: 'system', content: textOf(shown) }];
}

/** Returns the body of /v1/chat/completions for the same request. */
export function toChat(body: MessageBody): object {
  const { output_config: config } = body;
  const format = config?.format ?? body.output_format;
  return withoutMissing({
    ...toPromptFields(body),
    max_completion_tokens: body.max_tokens,
    stop: body.stop_sequences,
    ...sharedFields(body, SAMPLING, 'anthropic'),
    reasoning_effort: config?.effort ?? undefined,
    response_format: format && { type: 'json_schema', json_schema: { schema: format.schema } },
  });
}

/** Drops the request for thoughts for a model without reasoning, because clients send it to every model. */
export function withoutThoughts(body: MessageBody): MessageBody {
  const { thinking, output_config: config, ...rest } = body;
  return {
    ...rest,
    ...(thinking?.type === 'disabled' && { thinking }),
    ...(config && { output_config: { ...config, effort: null } }),
  };
}

/** Whether the last message is the beginning of the reply: the assistant's text without thoughts and calls. */
function isPrefill(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return false;
  return typeof last.content === 'string' || last.content.every(({ type }) => type === 'text');
}

function toChoice(choice: PromptBody['tool_choice']): unknown {
  if (!choice) return undefined;
  if (choice.type === 'any') return 'required';
  if (choice.type !== 'tool') return choice.type;
  if (choice.name == null)
    throw fieldError('tool_choice.name', 'is required where the type is tool', 'missing_required_parameter');
  return { type: 'function', function: { name: choice.name } };
}

function toReasoning(thinking: PromptBody['thinking']): unknown {
  if (!thinking || thinking.type === 'adaptive') return undefined;
  if (thinking.type === 'disabled') return { enabled: false };
  return withoutMissing({ enabled: true, max_tokens: thinking.budget_tokens ?? undefined });
}

/** Results of tools become messages of their own, which precede the rest of the user's message. `path`: that of the content. */
function toMessages({ role, content }: Message, path: string): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }];
  if (role === 'assistant') return [toAssistant(content, path)];
  const results = content.flatMap((block, at) =>
    isOf(block, 'tool_result') ? [toResult(block, `${path}.${at}`)] : [],
  );
  const rest = contentOf(content, path);
  return rest === '' && results.length > 0 ? results : [...results, { role, content: rest }];
}

function toResult(block: BlockOf<'tool_result'>, path: string): ChatMessage {
  const { tool_use_id: id, content: result, is_error: isError } = block;
  const said = contentOf(result ?? '', `${path}.tool_result.content`);
  const content =
    typeof said === 'string'
      ? `${isError ? 'Error: ' : ''}${said}`
      : [...(isError ? [{ type: 'text' as const, text: 'Error:' }] : []), ...said];
  return { role: 'tool', content, tool_call_id: id };
}

/** Content without images is one text, which every template takes. */
function contentOf(content: string | readonly LooseBlock[], path: string): string | ContentPart[] {
  if (typeof content === 'string' || !content.some(({ type }) => type === 'image')) return textOf(content);
  return content.flatMap((block, at): ContentPart[] => {
    if (isOf(block, 'image')) return [toImage(block, `${path}.${at}.image.source`)];
    const text = textOf([block]);
    return text === '' ? [] : [{ type: 'text', text }];
  });
}

function toImage({ source }: BlockOf<'image'>, path: string): ContentPart {
  return source.type === 'url'
    ? imagePart(source.url, `${path}.url`)
    : imagePart(dataUrl(source.data), `${path}.data`);
}

function toAssistant(content: readonly Block[], path: string): ChatMessage {
  const thoughts = ofType(content, 'thinking')
    .map(({ thinking }) => thinking)
    .join('');
  const calls = ofType(content, 'tool_use').map(({ id, name, input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: input },
  }));
  return {
    role: 'assistant',
    content: contentOf(content, path),
    ...(thoughts !== '' && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Blocks of one type, which the schema has checked. */
function ofType<T extends keyof typeof MEMBERS>(content: readonly Block[], type: T): BlockOf<T>[] {
  return content.filter((block) => isOf(block, type));
}

function isOf<B extends LooseBlock, T extends keyof typeof MEMBERS>(
  block: B,
  type: T,
): block is B & BlockOf<T> {
  return block.type === type;
}

/** Joins the text blocks; a tool reference is represented by the tool's name. */
function textOf(content: string | readonly LooseBlock[]): string {
  if (typeof content === 'string') return content;
  return content
    .flatMap(({ type, text, tool_name: found }) =>
      type === 'text' ? String(text) : type === 'tool_reference' ? String(found) : [],
    )
    .join('\n');
}
