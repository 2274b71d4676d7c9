// Pixtral, Mistral 3 and models that read pages, opened as users open them, against what transformers generates for images, clips and turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { requestOf, run, type Conversation } from './conversations.ts';
import { clipConversations } from './glm-clips.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/pixtral', import.meta.url));
const PAGES = fileURLToPath(new URL('../../../golden/ocr', import.meta.url));
const IMAGE = 260;

describe.each(['pixtral', 'mistral3'])('the media model %s', (name) => {
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
    await model.flushCache();
    const all = Object.values(conversations);
    const found = await Promise.all(all.map((one) => run(model, requestOf(one))));
    expect(found.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
  });

  it('counts the tokens that take rows, and not those that end rows of an image', async () => {
    const { turns, ids } = conversations['two']!;
    const { prompt } = requestOf({ turns, ids, greedy: [] });
    const { mediaTokens } = await model.renderPrompt(prompt);
    expect(mediaTokens).toEqual({ image: ids.filter((id) => id === IMAGE).length });
  });
});

/** Whether conversations also run at once: with states of fixed size, with clips, and with positions of three parts. */
const MODELS = {
  'deepseek-ocr': true,
  'glm-4v-moe': true,
  'glm-ocr': true,
  'lfm2-vl': true,
  'lighton-ocr': false,
  'paddleocr-vl': true,
};

it.each(Object.entries(MODELS))('%s makes the ids and the tokens of transformers', async (name, atOnce) => {
  const text = readFileSync(`${PAGES}/${name}.json`, 'utf8');
  const { conversations } = JSON.parse(text) as { conversations: Record<string, Conversation> };
  const pictured = Object.entries(conversations).map(([title, one]) => [title, requestOf(one), one] as const);
  const filmed = clipConversations(name);
  const all = [...pictured, ...filmed];
  const model = await openMediaModel({ path: `${PAGES}/${name}` }, { prefillChunk: 16 });
  try {
    expect(model.info.media).toEqual(filmed.length > 0 ? ['image', 'video'] : ['image']);
    for (const [title, request, one] of all)
      expect(await run(model, request), title).toEqual({ prompt: one.ids, ids: one.greedy });
    if (!atOnce) return;
    await model.flushCache();
    const found = await Promise.all(all.map(([, request]) => run(model, request)));
    expect(found.map(({ ids }) => ids)).toEqual(all.map(([, , { greedy }]) => greedy));
  } finally {
    await model.close();
  }
});
