// Parts that other interfaces convert to parts of a chat completion. Each remembers the field of the client's request that it came from,
// so that errors name that field: a symbol, which no JSON holds and no reply shows.

import type { ContentPart } from '../../index.ts';
import type { Renames } from '../body/renamed.ts';
import { isObject } from '../body/fields.ts';

const FIELD = Symbol('field');

/** An image_url part. `field`: path in the client's request of the member that holds the address. */
export function imagePart(url: string, field: string): ContentPart {
  return named({ type: 'image_url', image_url: url }, field);
}

/** A part with a file, whose bytes tell its kind. */
export function filePart(url: string, field: string): ContentPart {
  return named({ type: 'file', file: { file_data: url } }, field);
}

/** An input_audio part. */
export function audioPart(audio: { data: string; format?: string | null }, field: string): ContentPart {
  return named({ type: 'input_audio', input_audio: audio }, field);
}

/** Returns the part of a chat completion as the part of a message that it becomes when the body with it is read. */
function named(part: object, field: string): ContentPart {
  return { ...part, [FIELD]: field } as unknown as ContentPart;
}

/** The path of each such part in a body of /v1/chat/completions, and the field that it came from. */
export function partNames(chat: object): Renames {
  const messages: unknown = Reflect.get(chat, 'messages');
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: unknown, at) => {
    const content = isObject(message) ? message['content'] : null;
    if (!Array.isArray(content)) return [];
    return content.flatMap((part: unknown, i) => {
      const field: unknown = isObject(part) ? Reflect.get(part, FIELD) : undefined;
      return typeof field === 'string' ? [[`messages.${at}.content.${i}.**`, field] as const] : [];
    });
  });
}
