// Conversations with models whose prompt is a source, such as a text to translate: one message of the user is the source, as it stands.

import { badRequest } from '../error.ts';
import type { ChatRendering, ChatTemplate } from './template.ts';
import type { TemplateMessage } from './template-messages.ts';

export function openSourceTemplate(): ChatTemplate {
  return {
    problem: null,
    source: '',
    // Tools are given to the template, which refuses them.
    reads: (variable) => variable === 'tools',
    portable: (rendering) => rendering,
    render: ({ messages, tools, kwargs = {} }: ChatRendering) => {
      if (tools?.length) throw refused('knows no tools: leave them out', 'tools');
      const [name] = Object.keys(kwargs);
      if (name !== undefined)
        throw refused(
          `has no chat template, which ${name} would be a variable of: leave it out`,
          `chat_template_kwargs.${name}`,
        );
      const [message] = messages;
      if (messages.length !== 1 || message?.role !== 'user')
        throw refused(
          `writes about one text and knows no conversations: send one message of the user, not ${messages.map(({ role }) => role).join(', ')}`,
          'messages',
        );
      return textOf(message);
    },
  };
}

function textOf({ content }: TemplateMessage): string {
  if (typeof content === 'string') return content;
  const parts: unknown[] = Array.isArray(content) ? content : [];
  return parts
    .map((part, i) => {
      const { type, text } = part as { type?: unknown; text?: unknown };
      if (type === 'text' && typeof text === 'string') return text;
      throw refused(
        `takes texts only: leave the part of type ${String(type)} out`,
        `messages.0.content.${i}`,
      );
    })
    .join('\n');
}

const refused = (why: string, param: string): Error => badRequest(`this encoder-decoder model ${why}`, param);
