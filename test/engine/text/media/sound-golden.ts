// Checkpoints of scripts/reference/audio.py, their sounds and conversations.

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
