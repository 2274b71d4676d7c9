// Idefics3 and SmolVLM, opened as users open them, against what transformers generates for several images and turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type {
  ChatMessage,
  ContentPart,
  TextModel,
  TextRequest,
} from '../../../../src/engine/text/text-model.ts';
import { GOLDEN } from '../../../models/vision/internvl-golden.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

interface Conversation {
  turns: [role: ChatMessage['role'], content: string[]][];
  ids: number[];
  greedy: number[];
}

const FOLDER = fileURLToPath(new URL('../../../golden/idefics3', import.meta.url));

const partOf = (part: string): ContentPart => {
  const golden = GOLDEN.images[part];
  return golden
    ? { type: 'image', image: new Uint8Array(Buffer.from(golden.file, 'base64')) }
    : { type: 'text', text: part };
};

function requestOf({ turns, greedy }: Conversation): TextRequest {
  return {
    prompt: { messages: turns.map(([role, content]) => ({ role, content: content.map(partOf) })) },
    temperature: 0,
    maxTokens: greedy.length,
    ignoreEos: true,
    promptIds: true,
  };
}

async function run(model: TextModel, request: TextRequest) {
  const events = [];
  for await (const event of model.generate(request)) events.push(event);
  const accepted = events.find((event) => event.type === 'accepted');
  return {
    prompt: accepted?.promptIds,
    ids: events.flatMap((event) => (event.type === 'delta' ? event.ids : [])),
  };
}

describe.each(['idefics3', 'smolvlm'])('%s', (name) => {
  const text = readFileSync(`${FOLDER}/${name}.json`, 'utf8');
  const { conversations } = JSON.parse(text) as { conversations: Record<string, Conversation> };
  let model: TextModel;
  beforeAll(async () => {
    model = await openMediaModel({ path: `${FOLDER}/${name}` }, { prefillChunk: 16 });
  });
  afterAll(() => model.close());

  it('makes the ids and the tokens of transformers, one request after the other and all at once', async () => {
    expect(model.info.media).toEqual(['image']);
    for (const [title, one] of Object.entries(conversations))
      expect(await run(model, requestOf(one)), title).toEqual({ prompt: one.ids, ids: one.greedy });
    const all = Object.values(conversations);
    const found = await Promise.all(all.map((one) => run(model, requestOf(one))));
    expect(found.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
  });

  it('takes no limits on tiles, which its processor does not have', async () => {
    const request = { ...requestOf(conversations['one']!), maxTiles: 2 };
    await expect(run(model, request)).rejects.toMatchObject({ code: 'bad_request', param: 'maxTiles' });
  });
});
