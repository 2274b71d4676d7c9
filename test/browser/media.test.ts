// A model that reads images, in a page: files, pixels and ImageData give the tokens that transformers generates.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { ContentPart, TextModel } from '../../src/browser.ts';
import { GOLDEN } from '../models/vision/internvl-golden.ts';
import { usePages } from './chromium.ts';

declare global {
  /** The model that a test has opened. */
  var model: TextModel;
}

const pages = usePages();

const MODEL = 'pixtral/mistral3';
const FILES = [
  'config.json',
  'model.safetensors',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'preprocessor_config.json',
  'processor_config.json',
];
const golden = JSON.parse(
  readFileSync(fileURLToPath(new URL(`../golden/${MODEL}.json`, import.meta.url)), 'utf8'),
) as {
  conversations: Record<string, { turns: [string, string[]][]; ids: number[]; greedy: number[] }>;
};

pages.test('a model in a page reads files, pixels and ImageData', { timeout: 180_000 }, async () => {
  const page = await pages.open();
  const media = await page.evaluate(
    async ({ model, names }) => {
      const file = async (name: string): Promise<File> =>
        new File([await (await fetch(`/golden/${model}/${name}`)).blob()], name);
      globalThis.model = await svc.openTextModel({
        model: await Promise.all(names.map(file)),
        safe: true,
        prefillChunk: 16,
      });
      return globalThis.model.info.media;
    },
    { model: MODEL, names: FILES },
  );
  expect(media).toEqual(['image']);
  for (const name of ['two', 'turns']) {
    const { turns, ids, greedy } = golden.conversations[name]!;
    const parts = turns.map(([role, content]) => ({
      role,
      content: content.map((text) => ({ text, file: GOLDEN.images[text]?.file ?? null })),
    }));
    // An image without alpha is the same in a canvas.
    const forms = name === 'turns' ? ['file', 'pixels', 'ImageData'] : ['file'];
    for (const form of forms) {
      const found = await page.evaluate(
        async ({ parts, form, count }) => {
          const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
            Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
          const imageOf = async (base64: string) => {
            const bytes = bytesOf(base64);
            if (form === 'file') return bytes;
            const bitmap = await createImageBitmap(new Blob([bytes]));
            const { width, height } = bitmap;
            const context = new OffscreenCanvas(width, height).getContext('2d')!;
            context.drawImage(bitmap, 0, 0);
            const image = context.getImageData(0, 0, width, height);
            if (form === 'ImageData') return image;
            const data = new Uint8Array(3 * width * height);
            for (let i = 0; i < data.length; i++) data[i] = image.data[4 * Math.floor(i / 3) + (i % 3)]!;
            return { width, height, data };
          };
          const messages = [];
          for (const { role, content } of parts) {
            const own: ContentPart[] = [];
            for (const { text, file } of content)
              own.push(
                file === null ? { type: 'text', text } : { type: 'image', image: await imageOf(file) },
              );
            messages.push({ role: role as 'user', content: own });
          }
          const request = { prompt: { messages }, temperature: 0, maxTokens: count, ignoreEos: true };
          let prompt: readonly number[] | undefined;
          const ids: number[] = [];
          for await (const event of model.generate({ ...request, promptIds: true })) {
            if (event.type === 'accepted') prompt = event.promptIds;
            if (event.type === 'delta') ids.push(...event.ids);
          }
          return { prompt, ids };
        },
        { parts, form, count: greedy.length },
      );
      expect(found, `${name} as ${form}`).toEqual({ prompt: ids, ids: greedy });
    }
  }
  await page.evaluate(() => model.close());
});
