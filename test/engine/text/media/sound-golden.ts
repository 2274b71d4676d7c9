// Checkpoints of scripts/reference/audio.py and realtime_audio.py, their sounds and conversations.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ChatMessage, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';

export interface SoundConversation {
  name: string;
  /** Parts are texts, or numbers of sounds. */
  turns: [role: ChatMessage['role'], content: string | (string | number)[]][];
  ids: number[];
  greedy: number[];
}

export interface SoundGolden {
  path: string;
  /** WAV files. */
  sounds: Uint8Array[];
  conversations: SoundConversation[];
}

const FOLDER = fileURLToPath(new URL('../../../golden/audio', import.meta.url));

export function soundGolden(name: string): SoundGolden {
  const path = `${FOLDER}/${name}`;
  const { sounds, conversations } = JSON.parse(readFileSync(`${path}.json`, 'utf8')) as {
    sounds: string[];
    conversations: SoundConversation[];
  };
  return {
    path,
    conversations,
    sounds: sounds.map((file) => new Uint8Array(Buffer.from(file, 'base64'))),
  };
}

export function soundRequest(
  { sounds }: Pick<SoundGolden, 'sounds'>,
  { turns, greedy }: Pick<SoundConversation, 'turns' | 'greedy'>,
): TextRequest {
  return {
    prompt: {
      messages: turns.map(([role, content]) => ({
        role,
        content:
          typeof content === 'string'
            ? content
            : content.map((part) =>
                typeof part === 'number'
                  ? { type: 'audio' as const, audio: sounds[part]! }
                  : { type: 'text' as const, text: part },
              ),
      })),
    },
    temperature: 0,
    maxTokens: greedy.length,
    ignoreEos: true,
    promptIds: true,
  };
}

/** Voxtral Realtime, and the request for the text of each of its sounds. */
export function realtimeGolden() {
  const path = `${FOLDER}/voxtral-realtime`;
  const golden = JSON.parse(readFileSync(`${path}.json`, 'utf8')) as { sounds: string[]; greedy: number[][] };
  const sounds = golden.sounds.map((file) => new Uint8Array(Buffer.from(file, 'base64')));
  const requestOf = (sound: number): TextRequest => ({
    prompt: { messages: [{ role: 'user', content: [{ type: 'audio', audio: sounds[sound]! }] }] },
    temperature: 0,
    ignoreEos: true,
  });
  return { path, sounds, greedy: golden.greedy, requestOf };
}
