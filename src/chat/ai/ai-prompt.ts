// Prompts of the AI SDK as conversations of the engine.

import type {
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider';
import type { ChatMessage, ContentPart } from '../../engine/text/calls/text-model.ts';
import { unsupported } from '../../files/error.ts';
import { bytesOf } from '../saved-chat.ts';

/** Throws unsupported for content that no chat template has. */
export function toMessages(prompt: LanguageModelV3Prompt): ChatMessage[] {
  return prompt.flatMap(messagesOf);
}

function messagesOf(message: LanguageModelV3Message): ChatMessage[] {
  if (message.role === 'system') return [{ role: 'system', content: message.content }];
  if (message.role === 'assistant') return [assistantMessage(message.content)];
  if (message.role === 'tool')
    return message.content.map((part) => {
      if (part.type !== 'tool-result')
        throw unsupported(
          `the prompt has a ${part.type}, which no tool here asks for: leave it out, and send the tool's result`,
        );
      return toolMessage(part);
    });
  const parts = message.content.map((part) =>
    part.type === 'text' ? { type: 'text' as const, text: part.text } : filePart(part),
  );
  const texts = parts.map((part) => (part.type === 'text' ? part.text : null));
  // Templates that know no parts take a text.
  return [{ role: 'user', content: texts.includes(null) ? parts : texts.join('\n') }];
}

function filePart({ mediaType, data }: LanguageModelV3FilePart): ContentPart {
  if (data instanceof URL)
    throw unsupported(`the prompt has a file at ${data.href}: give its bytes`, 'prompt');
  const bytes = typeof data === 'string' ? bytesOf(data) : data;
  const [kind] = mediaType.split('/');
  if (kind === 'image') return { type: 'image', image: bytes };
  if (kind === 'audio') return { type: 'audio', audio: bytes };
  if (kind === 'video') return { type: 'video', video: bytes };
  if (kind === 'text') return { type: 'text', text: new TextDecoder().decode(bytes) };
  throw unsupported(
    `the prompt has a file of type ${mediaType}: give images, sounds, videos or texts`,
    'prompt',
  );
}

type AssistantParts = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'];

function assistantMessage(parts: AssistantParts): ChatMessage {
  let [text, reasoning] = ['', ''];
  const calls: NonNullable<ChatMessage['tool_calls']> = [];
  for (const part of parts) {
    if (part.type === 'text') text += part.text;
    else if (part.type === 'reasoning') reasoning += part.text;
    else if (part.type === 'tool-call')
      calls.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: JSON.stringify(part.input ?? {}) },
      });
    else
      throw unsupported(
        `a message of the assistant has a ${part.type}, which no model here writes`,
        'prompt',
      );
  }
  return {
    role: 'assistant',
    content: text,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function toolMessage({ toolCallId, toolName, output }: LanguageModelV3ToolResultPart): ChatMessage {
  return { role: 'tool', tool_call_id: toolCallId, name: toolName, content: outputText(output) };
}

function outputText(output: LanguageModelV3ToolResultPart['output']): string {
  switch (output.type) {
    case 'text':
      return output.value;
    case 'json':
      return JSON.stringify(output.value);
    case 'error-text':
    case 'error-json':
      return JSON.stringify({ error: output.value });
    case 'execution-denied':
      return JSON.stringify({ error: output.reason ?? 'the user does not allow this call' });
    case 'content':
      return output.value
        .map((part) => {
          if (part.type === 'text') return part.text;
          throw unsupported(
            `a tool result has a part of type ${part.type}: tools return texts and JSON`,
            'prompt',
          );
        })
        .join('\n');
  }
}
