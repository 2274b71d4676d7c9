// Conversations of goldens whose parts are names of images of internvl/images.json, or texts.

import type {
  ChatMessage,
  ContentPart,
  TextModel,
  TextRequest,
} from '../../../../src/engine/text/calls/text-model.ts';
import { GOLDEN } from '../../../models/vision/internvl-golden.ts';

export interface Conversation {
  turns: [role: ChatMessage['role'], content: string[]][];
  /** Ids of the prompt, and the tokens that follow greedily. */
  ids: number[];
  greedy: number[];
}

const partOf = (part: string): ContentPart => {
  const golden = GOLDEN.images[part];
  return golden
    ? { type: 'image', image: new Uint8Array(Buffer.from(golden.file, 'base64')) }
    : { type: 'text', text: part };
};

export function requestOf({ turns, greedy }: Conversation): TextRequest {
  return {
    prompt: { messages: turns.map(([role, content]) => ({ role, content: content.map(partOf) })) },
    temperature: 0,
    maxTokens: greedy.length,
    ignoreEos: true,
    promptIds: true,
  };
}

/** Ids of the prompt, and of the tokens that follow. */
export async function run(model: TextModel, request: TextRequest) {
  const events = [];
  for await (const event of model.generate(request)) events.push(event);
  const accepted = events.find((event) => event.type === 'accepted');
  return {
    prompt: accepted?.promptIds,
    ids: events.flatMap((event) => (event.type === 'delta' ? event.ids : [])),
  };
}

/** The request of a conversation in which a part of the form `kind title` is what `mediumOf` returns for it; other parts are as in `requestOf`. */
export function requestWithMedia(
  one: Conversation,
  mediumOf: (kind: string, title: string) => ContentPart | undefined,
): TextRequest {
  const request = requestOf(one);
  if (!('messages' in request.prompt)) return request;
  for (const { content } of request.prompt.messages) {
    const parts = content as ContentPart[];
    parts.forEach((part, i) => {
      const [kind = '', title = ''] = part.type === 'text' ? part.text.split(' ') : [];
      parts[i] = mediumOf(kind, title) ?? part;
    });
  }
  return request;
}

/** The N-th sound, for a part `sound N`. */
export function soundOf(
  sounds: readonly { file: string }[],
  kind: string,
  title: string,
): ContentPart | undefined {
  const sound = kind === 'sound' ? sounds[Number(title)] : undefined;
  return sound && { type: 'audio', audio: new Uint8Array(Buffer.from(sound.file, 'base64')) };
}
