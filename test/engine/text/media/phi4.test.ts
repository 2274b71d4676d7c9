// Phi-4-multimodal, as transformers saves it and as it is published, against what transformers generates with the LoRA of each prompt's media in its
// weights.

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import type { OpenEvent } from '../../../../src/engine/opening/open-event.ts';
import { requestWithMedia, run, soundOf, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/phi4-media', import.meta.url));
const golden = JSON.parse(readFileSync(`${FOLDER}/small.json`, 'utf8')) as {
  sounds: { file: string }[];
  conversations: Record<string, Conversation>;
};

const asked = (one: Conversation) =>
  requestWithMedia(one, (kind, title) => soundOf(golden.sounds, kind, title));

it.each([
  ['small', 'one by one'],
  ['published', 'all at once'],
])('%s makes the ids and the tokens of transformers, %s', async (name, order) => {
  const model = await openMediaModel(
    { path: `${FOLDER}/${name}` },
    { prefillChunk: 16, maxRunningRequests: 6 },
  );
  const wanted = ({ ids: prompt, greedy: ids }: Conversation) => ({ prompt, ids });
  try {
    expect(model.info.media).toEqual(['image', 'audio']);
    expect(await model.loadedLoras()).toEqual([]);
    const all = Object.values(golden.conversations);
    if (order === 'all at once')
      expect(await Promise.all(all.map((one) => run(model, asked(one))))).toEqual(all.map(wanted));
    else
      for (const title of ['image', 'heard', 'both'])
        expect(await run(model, asked(golden.conversations[title]!)), title).toEqual(
          wanted(golden.conversations[title]!),
        );
  } finally {
    await model.close();
  }
});

it('a model without its LoRAs says so, and one that a request names takes their place', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'phi4-'));
  cpSync(`${FOLDER}/small`, folder, { recursive: true });
  for (const kind of ['vision', 'speech']) rmSync(join(folder, `${kind}-lora`), { recursive: true });
  const notes: string[] = [];
  const onEvent = (event: OpenEvent): void => void (event.type === 'note' && notes.push(event.message));
  const options = { prefillChunk: 16, loraPaths: [`seen=${FOLDER}/small/vision-lora`] };
  const model = await openMediaModel({ path: folder }, options, { onEvent });
  const { image, heard } = golden.conversations as Record<'image' | 'heard', Conversation>;
  try {
    expect(notes.filter((note) => note.includes('has no LoRA'))).toEqual([
      expect.stringMatching(/vision-lora: images are read without it/),
      expect.stringMatching(/speech-lora: sounds are read without it/),
    ]);
    expect((await run(model, asked(heard))).ids).not.toEqual(heard.greedy);
    expect((await run(model, asked(image))).ids).not.toEqual(image.greedy);
    expect((await run(model, { ...asked(image), lora: 'seen' })).ids).toEqual(image.greedy);
  } finally {
    await model.close();
    rmSync(folder, { recursive: true });
  }
});
