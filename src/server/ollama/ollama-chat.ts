// Converts a request of Ollama's interface to a chat completion, and renames the fields in errors back.

import {
  infillPrompt,
  type ChatMessage,
  type ContentPart,
  type TextModel,
  type TextPrompt,
} from '../../index.ts';
import { fieldError } from '../http/errors.ts';
import { dataUrl } from '../media/read-media.ts';
import { imagePart } from '../media/named-parts.ts';
import { show, withoutMissing } from '../body/fields.ts';
import { OPTION_NAMES, toSampling } from './ollama-options.ts';
import type { GenerateBody, OllamaChatBody, OllamaMessage, TextBody } from './ollama-schema.ts';
import type { Renames } from '../body/renamed.ts';

export const OLLAMA_NAMES: Renames = [
  ['response_format.json_schema.schema', 'format'],
  ['response_format.json_schema', 'format'],
  ['response_format', 'format'],
  ['reasoning_effort', 'think'],
  ['reasoning.*', 'think'],
  ['reasoning', 'think'],
  ['thinking_budget', 'think'],
  ...OPTION_NAMES,
];

export const GENERATE_NAMES: Renames = [
  ['messages.*.content', 'prompt'],
  ['messages.*', 'prompt'],
  ['messages', 'prompt'],
  ...OLLAMA_NAMES,
];

/** Returns the body of /v1/chat/completions for the same request. */
export function toChat(body: TextBody & Partial<Pick<OllamaChatBody, 'tools'>>, said: ChatMessage[]): object {
  const last = said.at(-1);
  const isBegun = last?.role === 'assistant' && !last.tool_calls && !last.reasoning_content && last.content;
  return withoutMissing({
    model: body.model,
    messages: said,
    continue_final_message: isBegun ? true : undefined,
    tools: body.tools,
    ...toSampling(body.options ?? {}),
    response_format: toFormat(body.format),
    reasoning: toReasoning(body.think),
    logprobs: body.logprobs,
    top_logprobs: body.top_logprobs,
  });
}

function toFormat(format: TextBody['format']): unknown {
  if (!format) return undefined;
  return format === 'json'
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: { schema: format } };
}

function toReasoning(think: TextBody['think']): unknown {
  if (think === undefined) return undefined;
  return typeof think === 'boolean' ? { enabled: think } : { enabled: true, effort: think };
}

/** Keeps members that are not Ollama's: the model's template may read them. */
export function toMessages(messages: readonly OllamaMessage[]): ChatMessage[] {
  return messages.map(({ thinking, tool_calls: calls, tool_name: name, tool_call_id: id, ...more }, at) => {
    const { images, ...rest } = more;
    return withoutMissing({
      ...rest,
      content: contentOf(rest.content ?? '', images, `messages.${at}.images`),
      name: name ?? undefined,
      reasoning_content: thinking || undefined,
      tool_calls: calls?.length ? calls.map(toCall) : undefined,
      tool_call_id: id ?? undefined,
    });
  });
}

function toCall({ id, function: called }: NonNullable<OllamaMessage['tool_calls']>[number]) {
  const { name, arguments: given } = called;
  return { ...(id && { id }), type: 'function' as const, function: { name, arguments: given } };
}

/** Images precede the text. `path`: that of the images. */
function contentOf(
  text: string,
  images: readonly string[] | null | undefined,
  path: string,
): string | ContentPart[] {
  if (!images?.length) return text;
  const parts = images.map((image, at) => imagePart(dataUrl(image), `${path}.${at}`));
  return text === '' ? parts : [...parts, { type: 'text', text }];
}

/** Returns the conversation that consists of a prompt, its images and its system message. */
export function promptMessages({ system, prompt = '', images }: GenerateBody): ChatMessage[] {
  const user = { role: 'user' as const, content: contentOf(prompt, images, 'images') };
  return system ? [{ role: 'system', content: system }, user] : [user];
}

/** Returns the prompt of a request that no template renders: with `raw`, with a suffix, or to a model without a template; else null. */
export async function plainPrompt(body: GenerateBody, model: TextModel): Promise<TextPrompt | null> {
  const { prompt = '', raw, suffix, system, think, images } = body;
  const why = raw
    ? 'raw takes the prompt as it is'
    : suffix
      ? 'suffix takes the prompt as it is'
      : model.info.hasChatTemplate
        ? null
        : `${model.info.name} has no chat template`;
  if (why === null) return null;
  const param = system ? 'system' : think ? 'think' : images?.length ? 'images' : null;
  if (param !== null) {
    throw fieldError(param, `is for the chat template, and ${why}; leave it out`, 'unsupported');
  }
  return { text: suffix ? (await infillPrompt(model, prompt, suffix)).text : prompt };
}

/** Throws if the request asks for reasoning and the model has none. */
export function checkThinks({ think }: TextBody, { info }: TextModel): void {
  if (!think || info.outputFormat.reasoning !== null) return;
  throw fieldError(
    'think',
    `= ${show(think)} asks for thoughts, and ${info.name} has none; leave it out`,
    'unsupported',
  );
}
