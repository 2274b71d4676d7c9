// Conversations with models that take one message of the user and know no others: its text is a source, such as one to translate, or its sound is
// written down.

import { badRequest, type EngineError } from '../error.ts';
import type { ChatRendering, ChatTemplate } from './chat-template.ts';
import type { TemplateMessage } from './template-messages.ts';

/** For encoder-decoder models, whose prompt is the text as it stands. */
export const openSourceTemplate = (): ChatTemplate =>
  openSingle('this encoder-decoder model', 'writes about one text', ({ content }, { refused }) => {
    if (typeof content === 'string') return content;
    return partsOf(content)
      .map(({ type, text }, i) => {
        if (type === 'text' && typeof text === 'string') return text;
        throw refused(
          `takes texts only: leave the part of type ${String(type)} out`,
          `messages.0.content.${i}`,
        );
      })
      .join('\n');
  });

/** For models that write while they hear: the prompt is the start token and what stands for the sound. */
export const openSoundTemplate = (): ChatTemplate =>
  openSingle('this model', 'writes what one sound says', ({ content }, { media, refused }) => {
    const parts = partsOf(content);
    const [part] = parts;
    const sound = parts.length === 1 && part!.type === 'audio' ? media['audio'] : undefined;
    if (sound !== undefined) return `<s>${sound}`;
    throw refused('takes a sound and no text: send one part of type audio', 'messages.0.content');
  });

interface Part {
  type?: unknown;
  text?: unknown;
}

const partsOf = (content: unknown): Part[] => (Array.isArray(content) ? (content as Part[]) : []);

interface Writing {
  media: Readonly<Record<string, string>>;
  refused: (why: string, param: string) => EngineError;
}

/** `what`: the model, for messages, and what it does; `write` gives the prompt of the message. */
function openSingle(
  what: string,
  does: string,
  write: (message: TemplateMessage, writing: Writing) => string,
): ChatTemplate {
  const refused = (why: string, param: string): EngineError => badRequest(`${what} ${why}`, param);
  return {
    problem: null,
    source: '',
    // Tools are given to the template, which refuses them.
    reads: (variable) => variable === 'tools',
    portable: (rendering) => rendering,
    render: ({ messages, tools, media = {}, kwargs = {} }: ChatRendering) => {
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
          `${does} and knows no conversations: send one message of the user, not ${messages.map(({ role }) => role).join(', ')}`,
          'messages',
        );
      return write(message, { media, refused });
    },
  };
}
