// Checkpoints of scripts/reference/media.py, what transformers computes with them, and the requests of their cases.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { OpenEvent } from '../../../../src/engine/opening/open-event.ts';
import { TEXT } from '../../../../src/host/kinds/text.ts';
import { openInline } from '../../../../src/host/open.ts';
import type {
  ChatMessage,
  ContentPart,
  TextModel,
  TextModelOptions,
  TextRequest,
} from '../../../../src/engine/text/calls/text-model.ts';
import type { Pixels } from '../../../../src/files/image/pixels.ts';
import { readValues, type Values } from '../../../models/image-golden.ts';

export interface MediaCase {
  name: string;
  images: number[];
  messages: { role: ChatMessage['role']; content: string | string[] }[];
  /** Ids of the prompt, and the tokens that follow greedily. */
  ids: number[];
  greedy: number[];
}

export interface MediaGolden {
  path: string;
  cases: MediaCase[];
  tensors: ReadonlyMap<string, Values>;
  images: Pixels[];
}

const ROOT = fileURLToPath(new URL('../../../golden/media/', import.meta.url));

export async function openMediaGolden(name: string): Promise<MediaGolden> {
  const path = join(ROOT, name);
  const { cases } = JSON.parse(readFileSync(join(path, 'golden.json'), 'utf8')) as { cases: MediaCase[] };
  const tensors = await readValues(join(path, 'golden.safetensors'));
  const images: Pixels[] = [];
  for (let i = 0; tensors.has(`image.${i}`); i++) {
    const { shape, values } = tensors.get(`image.${i}`)!;
    images.push({ width: shape[1]!, height: shape[0]!, data: Uint8Array.from(values) });
  }
  return { path, cases, tensors, images };
}

export function openMediaModel(
  { path }: Pick<MediaGolden, 'path'>,
  options: Partial<TextModelOptions> = {},
  { platform = nodePlatform, onEvent }: { platform?: Platform; onEvent?: (event: OpenEvent) => void } = {},
): Promise<TextModel> {
  const all = { model: path, safe: true, memoryBudget: 2 ** 30, ...options };
  return openInline(TEXT, platform, all, onEvent);
}

/** The conversation of a case, with the images in place of their names. */
export function messagesOf({ images }: MediaGolden, one: MediaCase): ChatMessage[] {
  const order = [...one.images];
  return one.messages.map(({ role, content }) => ({
    role,
    content:
      typeof content === 'string'
        ? content
        : content.map((part): ContentPart =>
            part === 'image'
              ? { type: 'image', image: images[order.shift()!]! }
              : { type: 'text', text: part },
          ),
  }));
}

export function requestOf(golden: MediaGolden, one: MediaCase): TextRequest {
  return {
    prompt: { messages: messagesOf(golden, one) },
    temperature: 0,
    maxTokens: one.greedy.length,
    ignoreEos: true,
    skipSpecialTokens: false,
    promptIds: true,
  };
}
